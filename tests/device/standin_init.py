"""Process 1 of the stand-in device: mounts its world, keeps adbd, adopts and reaps orphans as Android's init does.

    standin_init.py ROOT PORT ADBD        (in new mount and pid namespaces, as root)

SIGUSR1 unplugs the device (adbd dies, everything else goes on), SIGUSR2 plugs it in again.
"""

import os
import signal
import subprocess
import sys

ROOT, PORT, ADBD = sys.argv[1], sys.argv[2], sys.argv[3]
DIRECTORIES = (
    *("system/bin", "data/misc/perfetto-traces", "data/local/tmp", "data/app", "data/data", "data/rig/log", "sdcard"),
)
ENVIRONMENT = {
    "PATH": "/system/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/data/local/tmp",
    "TMPDIR": "/data/local/tmp",
    "LANG": "C.UTF-8",
    "ADBD_PORT": PORT,
}


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def build_world():
    mount("--make-rprivate", "/")
    # The writable layer is a tmpfs: overlayfs does not stack on the overlays that containers live in.
    layer, merged = f"{ROOT}/layer", f"{ROOT}/merged"
    for directory in (layer, merged):
        os.makedirs(directory, exist_ok=True)
    mount("-t", "tmpfs", "-o", "size=1g", "tmpfs", layer)
    for directory in ("upper", "work"):
        os.makedirs(f"{layer}/{directory}")
    for directory in DIRECTORIES:
        os.makedirs(f"{layer}/upper/{directory}")
    mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={layer}/upper,workdir={layer}/work", merged)
    mount("-t", "proc", "proc", f"{merged}/proc")
    for directory in ("sys", "dev"):
        mount("--rbind", f"/{directory}", f"{merged}/{directory}")
    return merged


def start_adbd(merged):
    def enter():
        os.setsid()
        os.chroot(merged)
        os.chdir("/")

    return subprocess.Popen(
        [ADBD],
        preexec_fn=enter,  # noqa: PLW1509  (there are no threads)
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )


def main():
    merged = build_world()
    wanted = {"adbd": True}
    signal.signal(signal.SIGUSR1, lambda *_: wanted.update(adbd=False))
    signal.signal(signal.SIGUSR2, lambda *_: wanted.update(adbd=True))
    signal.signal(signal.SIGALRM, lambda *_: None)
    adbd = None
    while True:
        if wanted["adbd"] and adbd is None:
            adbd = start_adbd(merged)
        if not wanted["adbd"] and adbd is not None:
            os.kill(adbd.pid, signal.SIGKILL)  # not Popen.kill, which would reap it behind our back
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # a signal between the look and the pause is not missed for long
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pid = 0
        if adbd is not None and pid == adbd.pid:
            adbd.returncode = 0
            adbd = None
            continue
        if pid == 0:
            signal.pause()


main()
