module example.com/third

go 1.26.0

require k8s.io/kubernetes v0.0.0
