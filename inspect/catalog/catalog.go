package catalog

import "slices"

// Places returns every row about a place, in reading order: the owners from
// the API server outward, what is on nodes, then what any cluster may have.
func Places() []Place {
	return slices.Concat(
		kubeAPIServerSignerPlaces(),
		kubeAPIServerPlaces(),
		kubeControllerManagerPlaces(),
		rootCAPlaces(),
		schedulerPlaces(),
		etcdPlaces(),
		serviceCAPlaces(),
		ingressPlaces(),
		gatewayPlaces(),
		routePlaces(),
		authenticationPlaces(),
		openShiftAPIPlaces(),
		machineConfigPlaces(),
		controllerConfigPlaces(),
		machineConfigFilePlaces(),
		networkPlaces(),
		monitoringPlaces(),
		otherOperatorPlaces(),
		userPlaces(),
		nodeKubeletPlaces(),
		nodeNetworkPlaces(),
		nodeStaticPodPlaces(),
		kubernetesPlaces(),
		kubeadmPlaces(),
		certManagerPlaces(),
	)
}

// Rotations returns every row about who signs what.
func Rotations() []Rotation {
	return slices.Concat(
		kubeAPIServerRotations(),
		kubeControllerManagerRotations(),
		etcdRotations(),
		serviceCARotations(),
		ingressRotations(),
		machineConfigRotations(),
		networkRotations(),
		kubeadmRotations(),
	)
}

// Aggregates returns every row about which bundle must contain which others.
func Aggregates() []Aggregate {
	return slices.Concat(
		kubeAPIServerAggregates(),
		kubeControllerManagerAggregates(),
		rootCAAggregates(),
		schedulerAggregates(),
		etcdAggregates(),
		serviceCAAggregates(),
		openShiftAPIAggregates(),
		machineConfigAggregates(),
		networkAggregates(),
		monitoringAggregates(),
	)
}
