package catalog

import "slices"

func allPlaces() []Place {
	return slices.Concat(
		kubeAPIServerSignerPlaces(),
		kubeAPIServerPlaces(),
		kubeControllerManagerPlaces(),
		rootCAPlaces(),
		schedulerPlaces(),
		cloudConfigPlaces(),
		etcdPlaces(),
		serviceCAPlaces(),
		ingressPlaces(),
		canaryPlaces(),
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

func allRotations() []Rotation {
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

func allAggregates() []Aggregate {
	return slices.Concat(
		kubeAPIServerAggregates(),
		kubeControllerManagerAggregates(),
		rootCAAggregates(),
		schedulerAggregates(),
		cloudConfigAggregates(),
		etcdAggregates(),
		serviceCAAggregates(),
		openShiftAPIAggregates(),
		machineConfigAggregates(),
		networkAggregates(),
		monitoringAggregates(),
	)
}
