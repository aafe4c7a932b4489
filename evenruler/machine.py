"""What computes, whatever the model: devices of this machine, or of a cluster."""

from dataclasses import dataclass

from evenruler.models.engines import choice


@dataclass(frozen=True)
class Machine:
    """What computes by the engine that is chosen."""

    device: str
    """The kind, as in the keys of answers: `cpu`, or `cuda` with its compute capability and memory."""
    gpus: int
    nodes: int
    """Of a cluster; 0 without one."""

    @property
    def together(self) -> int:
        """How many devices one model computes on at a time: all of a cluster, or one here."""
        return (self.gpus or self.nodes) if self.nodes else 1


def machine() -> Machine:
    """What there is by the engine that is chosen; a cluster is joined.

    Raises:
        UserError: The cluster cannot be joined.
    """
    engine, address = choice.chosen()
    if engine == choice.RAY:
        from evenruler.models.engines.cluster import connected

        cluster = connected(address)
        on = cluster.surroundings(cluster.gpus_of_a_copy(1, None))
        return Machine(on.device, cluster.gpus(), len(cluster.nodes()))

    from evenruler.models.engines.described import device_class, gpus

    return Machine(device_class(), gpus(), 0)
