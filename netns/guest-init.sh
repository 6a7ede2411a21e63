#!/bin/sh
# First program of the guest (see guest.go). The kernel passes its command line's unknown NAME=value words as
# environment: GUEST_DIR (the run's folder on the host), GUEST_MARK, GUEST_ARTIFACTS (may be empty).
# A failing step ends this script, which panics the guest: the caller then shows the console.
# Starting a program is what costs time in a guest, hence one "mount --all" for many mounts.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

mount -t proc proc /proc
mount -t tmpfs tmpfs /run
read -r release </proc/sys/kernel/osrelease
modules=/usr/lib/uml/modules/$release
insmod "$modules/kernel/fs/overlayfs/overlay.ko"

# An overlay keeps every write in the guest's memory: the host's tree below it is mounted read-only.
mkdir /run/top /run/work /run/root
cat >/run/fstab <<-END
	overlay /run/root         overlay  lowerdir=/,upperdir=/run/top,workdir=/run/work 0 0
	dev     /run/root/dev     devtmpfs defaults 0 0
	devpts  /run/root/dev/pts devpts   ptmxmode=0666,X-mount.mkdir 0 0
	tmpfs   /run/root/dev/shm tmpfs    mode=1777,X-mount.mkdir 0 0
	proc    /run/root/proc    proc     defaults 0 0
	sysfs   /run/root/sys     sysfs    defaults 0 0
	tmpfs   /run/root/run     tmpfs    mode=0755 0 0
END
mount --all --fstab /run/fstab

# pivot_root and not chroot: a process that enters a mount namespace lands in that namespace's root. The old root goes on
# top of the new one's /mnt, and away.
cd /run/root
pivot_root . mnt
exec </dev/console >/dev/console 2>&1
umount -l /mnt
ln -s /proc/self/fd /dev/fd

# The release's folder is put where modprobe and the kernel's own module requests look.
mkdir -p -m 1777 /run/lock
mkdir -p /lib/modules
[ -e "/lib/modules/$release" ] || ln -s "$modules" "/lib/modules/$release"
modprobe -a ipv6 dummy vrf 8021q veth bridge vxlan tun openvswitch
ip link set lo up

if [ -n "$GUEST_ARTIFACTS" ]; then
	mkdir -p "$GUEST_ARTIFACTS"
	mount -t hostfs -o "$GUEST_ARTIFACTS" none "$GUEST_ARTIFACTS"
fi

# Raw terminals: bytes reach the host as they were written.
stty -F /dev/tty1 raw -echo
stty -F /dev/tty2 raw -echo
status=0
sh "$GUEST_DIR/command" </dev/null >/dev/tty1 2>/dev/tty2 || status=$?
printf '\000%s %s\n' "$GUEST_MARK" "$status" >/dev/tty1
printf '\000%s %s\n' "$GUEST_MARK" "$status" >/dev/tty2
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
