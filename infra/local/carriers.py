"""What carries signals to functions: the tables' streams, the queues, and the collector whose removals the
streams tell of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from baton.bootstrap import Runtime
from baton.store.schema import TABLES, TableSpec
from infra.local.carrier import Carrier
from infra.local.collector import Collector
from infra.local.delivery import Call, Delivery, Parked
from infra.local.messaging import AWS, QueueAt, client_of
from infra.local.moto_streams import TrimmingReader
from infra.local.parking import Parking
from infra.local.pump import Pace, Pump, Reader
from infra.local.queues import QueuePoller
from infra.local.settings import table_names
from infra.local.shards import Start, StreamReader
from infra.manifest import Function
from infra.signals import StreamSource

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HERE = Pace(busy=0.01, idle=0.025)
"""Of a stream in this process, where to see that there is nothing costs next to nothing."""

ROUND_SECONDS = 60.0
"""How long a round waits for the functions that it calls."""

ELSEWHERE = Pace(busy=0.025, idle=0.1)


class Carriers:
    """All that ``functions`` ask for. Streams are read from the making on, so that nothing written later is
    missed; the carriers run from ``start`` on."""

    def __init__(
        self,
        functions: tuple[Function, ...],
        runtime: Runtime,
        queues: Mapping[str, QueueAt],
        *,
        call: Call,
    ) -> None:
        self._functions = functions
        self._runtime = runtime
        self._queues = queues
        self._call = call
        self._stopping = threading.Event()
        self._client = cast("DynamoDBClient", runtime.dynamo.connection.client)
        self._here = runtime.settings.endpoint_url is None
        self._names = table_names(runtime.settings)
        self._carriers = [*self._pumps(), *self._pollers(), *self._collectors()]

    def start(self) -> None:
        """Begin to carry."""
        for carrier in self._carriers:
            carrier.start()

    def stop(self, timeout: float) -> bool:
        """Let what is under way arrive; False when something did not within ``timeout`` seconds each."""
        self._stopping.set()
        return all([carrier.stop(timeout) for carrier in self._carriers])  # noqa: C419 - each is to stop

    def round(self) -> int:
        """Carry in the caller's thread what there is to carry now; how much that was, the changes of a table
        that concern nobody included."""
        count = sum(carrier.round() for carrier in self._carriers)
        if not all(pump.settled(ROUND_SECONDS) for pump in self._carriers if isinstance(pump, Pump)):
            raise TimeoutError("a function did not end in time")
        return count

    def _pumps(self) -> Iterator[Carrier]:
        for spec in TABLES:
            deliveries = [
                Delivery(
                    function,
                    source,
                    call=self._call,
                    park=self._park(source),
                    wait=self._stopping.wait,
                    clock=self._runtime.clock,
                )
                for function in self._functions
                for source in function.streams_from
                if source.table == spec.name
            ]
            if deliveries:
                yield Pump(
                    self._reader(spec),
                    deliveries,
                    hash_key=spec.hash_key.name,
                    pace=HERE if self._here else ELSEWHERE,
                    name=spec.name,
                    stopping=self._stopping,
                )

    def _reader(self, spec: TableSpec) -> Reader:
        settings = self._runtime.settings
        described = self._client.describe_table(TableName=self._names[spec.name])["Table"]
        # At AWS streams have an address of their own.
        endpoint = None if AWS in (settings.endpoint_url or AWS) else settings.endpoint_url
        # Else the account stands in the host's name, which moto's streams do not answer to.
        address = {"account_id_endpoint_mode": "disabled"}
        client = client_of("dynamodbstreams", settings.region, endpoint, **address)
        arn = described["LatestStreamArn"]
        return TrimmingReader(client, arn) if self._here else StreamReader(client, arn, Start.NEXT)

    def _park(self, source: StreamSource) -> Callable[[Parked], None]:
        settings, clock = self._runtime.settings, self._runtime.clock
        queue = self._queues.get(source.on_failure.name)
        return _nowhere if queue is None else Parking(queue, clock=clock, region=settings.region).park

    def _pollers(self) -> Iterator[Carrier]:
        for function in self._functions:
            if function.queue is not None:
                queue = self._queues[function.queue.queue.name]
                yield QueuePoller(function, function.queue, queue, call=self._call)

    def _collectors(self) -> Iterator[Carrier]:
        if self._here:
            yield Collector(self._client, self._names, clock=self._runtime.clock)


def _nowhere(_parked: Parked) -> None:
    """There is no queue to park on: what was logged is all."""
