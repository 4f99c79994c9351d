"""Network namespaces of one machine that stand for hosts: each has one rank, and a link whose bandwidth `tc` shapes.

Needs root, iproute2 and Open MPI. The bytes go through the TCP of the kernel, as between machines.
"""

import os
import pathlib
import subprocess
import tempfile

SUBNET = "10.79.0"
# Runs a command of Open MPI's launcher on "host" 10.79.0.N, on a core of its own and under its own host name: ranks
# that believe to share a machine would use its memory instead of the link.
AGENT = """#!/bin/sh
number=$((${1##*.} - 1))
shift
exec ip netns exec weft$number taskset -c $((number % %CPUS%)) unshare --uts sh -c "hostname weft$number; $*"
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Network:
    """Hosts weft0 .. at a bridge, until the end of a `with` block. `rate`: as for tc, "1gbit"; "none": unshaped."""

    def __init__(self, hosts, rate):
        self.hosts, self.rate = hosts, rate
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        self.remove()
        run("ip", "link", "add", "weftbr", "type", "bridge")
        run("ip", "link", "set", "weftbr", "up")
        for i in range(self.hosts):
            run("ip", "netns", "add", f"weft{i}")
            run("ip", "link", "add", f"weftv{i}", "type", "veth", "peer", "name", "eth0", "netns", f"weft{i}")
            run("ip", "link", "set", f"weftv{i}", "master", "weftbr", "up")
            inside = ("ip", "-n", f"weft{i}")
            run(*inside, "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "eth0")
            run(*inside, "link", "set", "lo", "up")
            run(*inside, "link", "set", "eth0", "up")
            if self.rate != "none":
                run("ip", "netns", "exec", f"weft{i}", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                    self.rate, "burst", "128kb", "latency", "100ms")
        agent = pathlib.Path(self.folder.name) / "agent"
        agent.write_text(AGENT.replace("%CPUS%", str(os.cpu_count())))
        agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        self.remove()
        self.folder.cleanup()

    def remove(self):
        for i in range(self.hosts):
            subprocess.run(["ip", "netns", "del", f"weft{i}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", "weftbr"], capture_output=True, check=False)

    def launcher(self, mpirun):
        """A command that starts a rank on each host."""
        addresses = ",".join(f"{SUBNET}.{i + 1}" for i in range(self.hosts))
        interface = f"{SUBNET}.0/24"
        return ["ip", "netns", "exec", "weft0", "taskset", "-c", "0", "unshare", "--uts", "sh", "-c",
                'hostname weft0; exec "$@"', "sh", mpirun, "--allow-run-as-root", "--bind-to", "none",
                "--mca", "plm_rsh_agent", f"{self.folder.name}/agent", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", interface, "--mca", "oob_tcp_if_include", interface,
                "--host", addresses, "-n", str(self.hosts)]
