package journal

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// openSocket opens the socket inside the namespace, on a thread that ends with it.
func openSocket(ns netns.NsHandle) (fd int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if ns > 0 {
			if err = netns.Set(ns); err != nil {
				err = fmt.Errorf("entering the network namespace: %w", err)
				return
			}
		}
		fd, err = subscribe()
	}()
	<-done
	return fd, err
}

func subscribe() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return 0, fmt.Errorf("opening an rtnetlink socket: %w", err)
	}
	if err := join(fd); err != nil {
		unix.Close(fd) // the first error is the one to report
		return 0, err
	}
	return fd, nil
}

func join(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer); err != nil {
		return fmt.Errorf("enlarging the receive buffer: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("binding an rtnetlink socket: %w", err)
	}
	for _, group := range []int{
		unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH,
		unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV4_RULE,
		unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV6_RULE,
	} {
		if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group); err != nil {
			return fmt.Errorf("joining rtnetlink group %d: %w", group, err)
		}
	}
	return nil
}
