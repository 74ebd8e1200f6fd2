package main

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// watchGroups has each group see its status as soon as it changes.
func (s *site) watchGroups(ctx context.Context) error {
	config := rest.CopyConfig(s.plane.Config)
	config.QPS = -1
	groups, err := cache.New(config, cache.Options{
		Scheme:           s.kube.Scheme(),
		Mapper:           s.kube.RESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stopWatch = cancel
	s.watching.Go(func() { _ = groups.Start(running) }) // it fails only when it was started before
	informer, err := groups.GetInformer(ctx, &v1.ElectionGroup{})
	if err != nil {
		return err
	}
	see := func(object any) {
		seen, ok := object.(*v1.ElectionGroup)
		if !ok {
			return
		}
		if g := s.byName[client.ObjectKeyFromObject(seen)]; g != nil {
			g.show(&seen.Status)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
	})
	if err != nil {
		return err
	}
	if !groups.WaitForCacheSync(ctx) {
		return errors.New("the groups cannot be watched")
	}
	return nil
}
