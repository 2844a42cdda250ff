"""A network namespace without a name, with one TUN device: it ends with its last process and descriptor."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TUN = Path("/dev/net/tun")
OWN = "/proc/thread-self/ns/net"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
IFF_UP, IFF_RUNNING = 0x1, 0x40
DEVICE = b"eth0"


def why_not() -> str | None:
    """Why this machine cannot have namespaces with TUN devices; None if it can."""
    if sys.platform != "linux":
        return "network namespaces need Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    return None if TUN.exists() else f"the switch needs {TUN}: modprobe tun"


class Namespace:
    """One namespace with an address in a /24; `tun` is the descriptor that a switch reads its packets from."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._descriptor = self.tun = -1
        failures: list[Exception] = []

        def make() -> None:
            try:
                self._make()
            except OSError as error:
                failures.append(error)

        # In a thread of its own, which ends: unshare moves only the thread that calls it.
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        if failures:
            self.close()
            raise failures[0]

    def enter(self) -> None:
        """Move the calling thread, and the threads and processes that it starts from now on."""
        _system("setns", self._descriptor, CLONE_NEWNET)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The same for a block: sockets that it opens and processes that it starts stay in the namespace."""
        outside = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.enter()
            try:
                yield
            finally:
                _system("setns", outside, CLONE_NEWNET)
        finally:
            os.close(outside)

    def close(self) -> None:
        """Let go of it. It lives as long as a process in it."""
        for descriptor in (self._descriptor, self.tun):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self.tun = -1

    def _make(self) -> None:
        _system("unshare", CLONE_NEWNET)
        self._descriptor = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        self.tun = os.open(TUN, os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", DEVICE, IFF_TUN | IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            _configure(control, SIOCSIFADDR, _ipv4(self.address))
            _configure(control, SIOCSIFNETMASK, _ipv4("255.255.255.0"))
            for device in (b"lo", DEVICE):
                _configure(control, SIOCSIFFLAGS, struct.pack("H22x", IFF_UP | IFF_RUNNING), device)


def _configure(control: socket.socket, request: int, value: bytes, device: bytes = DEVICE) -> None:
    fcntl.ioctl(control, request, struct.pack("16s24s", device, value))


def _ipv4(address: str) -> bytes:
    return struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(address))


def _system(call: str, *arguments: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, call)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
