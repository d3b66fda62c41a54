"""The model of where it breaks first counts what operations really take, leaves no index out, and names what
really moves a ceiling."""

import json
import math
import re
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baton.domain.roles import Role
from baton.domain.tokens import Wish
from baton.store.rows import ROW, run_key
from baton.store.schema import TABLES
from baton_sdk.worker import keeper, loop
from infra.aws.stage import STAGES
from infra.local.memory import in_process
from infra.manifest import FUNCTIONS
from infra.model import lives, operations
from infra.model.ceilings import KEYS, Taken, ceilings
from infra.model.command import app, tried
from infra.model.lives import ATTACHED, CLAIMED, LIVES
from infra.model.operations import OPERATIONS
from tests.bench import prices, requests, whole, writing
from tests.bench.house import NAMESPACE, Request, header, run_id, run_path
from tests.bench.writing import SMALL_INPUT, batch
from tests.infra.ledger import Ledger

RECORD = Path(__file__).parents[2] / "infra/decisions/0026-where-it-breaks-first.md"
PROD = STAGES["prod"]
WORKER = {"worker_id": "w1", "workflows": ["report"], "max": 1, "lease_seconds": 60}


def posted(function, path, body, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(function, "POST", path, headers=named, body=json.dumps(body).encode())


def appended(run, echo, seq):
    wish = requests.append(run, batch("prose", 5), echo=echo, producer="p", seq=seq)
    return replace(wish, headers={**(wish.headers or {}), "baton-attempt": "1"})


@pytest.fixture(scope="module")
def taken():
    """What each operation took, by its name."""
    with in_process():
        return dict(performed(Ledger()))


def performed(ledger):
    def send(request):
        ledger.clock.sleep(0.001)
        with ledger.taking() as found:
            answer = ledger.container.send(request)
        return answer, found

    def invoke(name, event):
        with ledger.taking() as found:
            ledger.container.invoke(name, event)
        return found

    def published(run):
        return invoke("publish", ledger.told.event(run_key(NAMESPACE, run)))

    subscribes = {"subscribes": [{"event": "run.completed:bench"}], "target": {"kind": "worker"}}
    send(requests.register("report", subscribes))
    made = ledger.container.runtime.tokens.create(Wish(namespace=NAMESPACE, role=Role.DRIVER), by=None)
    shown = {"headers": {"authorization": f"Bearer {made.text}"}}
    invoke("authorize", shown)  # that it is used is noted once an hour
    yield operations.ASK.name, invoke("authorize", shown)
    ledger.container.runtime.catalog.snapshot(NAMESPACE, fresh=True)
    for workflow in ("bench", "report"):  # names that are started for the first time are kept
        send(requests.start(uuid.uuid4().hex, workflow=workflow, mode="attached"))

    answer, found = send(requests.start(uuid.uuid4().hex, input=SMALL_INPUT, context_ref="feed-7"))
    yield operations.START.name, found
    run, echo = run_id(answer), header(answer, "baton-tail")
    for seq in range(2):
        answer, found = send(appended(run, echo, seq))
        echo = header(answer, "baton-tail")
    yield operations.APPEND.name, found
    yield operations.FINISH.name, send(requests.finish(run, echo=echo, output={"pages": 117}))[1]
    yield operations.HAND_OFF.name, published(run)

    beat = Request("workers", "PUT", "/v1/workers/w1", body=b'{"workflows": [{"name": "report"}]}')
    send(beat)
    yield operations.BEAT.name, send(beat)[1]
    ledger.container.runtime.catalog.snapshot(NAMESPACE, fresh=True)
    answer, found = send(posted("workers", "/v1/claims", WORKER))
    yield operations.CLAIM.name, found
    (claimed,) = json.loads(answer.body)["runs"]
    renewal = posted("workers", run_path(claimed["id"], "renew"), {"worker_id": "w1", "attempt": 1})
    for _ in range(2):
        ledger.clock.sleep(40)
        _, found = send(renewal)
    yield operations.RENEW.name, found
    ledger.container.runtime.catalog.snapshot(NAMESPACE, fresh=True)
    item = {"k": run_key(NAMESPACE, claimed["id"]), "s": ROW}
    hint = {"Records": [{"messageId": "1", "body": json.dumps(item)}]}
    yield operations.PUT_OFF.name, invoke("sweep", hint)

    ledger.clock.sleep(31 * 86_400)
    key = {"k": {"S": run_key(NAMESPACE, run)}, "s": {"S": ROW}}
    ledger.tables.client.delete_item(TableName=ledger.tables.names["runs"], Key=key)
    found = published(run)
    found.written["log"] -= 2 * operations.PURGE_APPEND.writes["log"]
    yield operations.PURGE.name, found


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.trips], ids=lambda each: each.name)
def test_an_operation_takes_what_the_model_says(taken, operation):
    found = taken[operation.name]
    assert dict(found.written) == dict(operation.writes)
    assert dict(found.read) == dict(operation.reads)
    assert operation.trips <= found.calls


def test_every_table_and_every_index_has_its_key_pattern_in_the_model():
    places = {spec.name for spec in TABLES} | {index.name for spec in TABLES for index in spec.indexes}
    assert set(KEYS) == places


def test_every_place_that_is_written_has_a_ceiling():
    for life in LIVES:
        taken = Taken(life, *tried(PROD, [])[:2])
        named = {each.where.split(":")[0] for each in ceilings(life, *tried(PROD, []))}
        assert {place for place in KEYS if taken.writes(place)} <= named


def test_operations_are_performed_by_functions_that_there_are():
    assert {each.function for each in OPERATIONS} <= {each.name for each in FUNCTIONS}


def test_a_whole_run_takes_what_the_bench_lets_it():
    assumed, settings, _ = tried(PROD, [])
    taken = Taken(ATTACHED, assumed, settings)
    purged = operations.PURGE.writes["log"] + assumed.batches * operations.PURGE_APPEND.writes["log"]
    in_sum = sum(map(taken.writes, KEYS)) - taken.writes("by_context") - purged
    assert 0 <= whole.LIMITS["prose"] - in_sum <= 2
    assert assumed.batches == whole.BATCHES


def test_a_finish_that_owes_takes_one_unit_more_than_the_bench_lets_one_that_does_not():
    assert sum(operations.FINISH.writes.values()) - 1 == writing.FINISH.wru


def test_an_invocation_takes_as_long_as_the_prices_assume():
    assumed = tried(PROD, [])[0]
    assert math.isclose(3 * assumed.trip_seconds + assumed.own_seconds, prices.ASSUMED_SECONDS)


@pytest.mark.parametrize("life", LIVES, ids=lambda each: each.name)
def test_what_breaks_first_comes_first_and_is_used_up_just_then(life):
    found = ceilings(life, *tried(PROD, []))
    assert [each.breaks_at for each in found] == sorted(each.breaks_at for each in found)
    for each in found:
        if math.isfinite(each.breaks_at):
            assert math.isclose(each.share(each.breaks_at), 1)


@pytest.mark.parametrize(
    ("life", "where", "given"),
    [
        (ATTACHED, "due: one", "due_shards=16"),
        (ATTACHED, "settled: one", "settled_shards=8"),
        (CLAIMED, "queue: one", "queue_shards=8"),
        (ATTACHED, "HTTP API: what stage", "requests_per_second=2000"),
        (CLAIMED, "sweep:", "lease_seconds=120"),
        (CLAIMED, "catalog: one", "runs_a_worker=20"),
        (ATTACHED, "catalog: revision", "catalog_seconds=10"),
    ],
)
def test_what_is_said_to_move_a_ceiling_moves_it(life, where, given):
    def breaks_at(*options):
        found = ceilings(life, *tried(PROD, list(options)))
        return next(each.breaks_at for each in found if each.where.startswith(where))

    assert math.isclose(breaks_at(given), 2 * breaks_at())


def test_a_sweep_has_no_more_chains_than_containers_are_set_aside_for_it():
    def most(*options):
        found = ceilings(CLAIMED, *tried(PROD, list(options)))
        return next(each.most for each in found if each.where.startswith("sweep"))

    assert most("due_shards=64", "reserved=8") == most("due_shards=8", "reserved=8")


def test_only_a_gateway_that_remembers_nobody_asks_of_every_request():
    def of_a_token(*options):
        found = ceilings(ATTACHED, *tried(PROD, list(options)))
        lambdas = next(each.each for each in found if each.where == "Lambda: all functions")
        return lambdas, [each for each in found if each.of == "a token"]

    busy, none = of_a_token()
    busier, [one] = of_a_token("authorizer_seconds=0")
    taken = Taken(ATTACHED, *tried(PROD, [])[:2])
    assert none == [] and math.isclose(busier - busy, taken.requests * taken.seconds(operations.ASK))
    assert math.isclose(one.breaks_at * taken.requests, 3000)


def test_the_publisher_keeps_up_however_large_the_table_grows():
    for life in LIVES:
        found = ceilings(life, *tried(PROD, []))
        assert next(each.breaks_at for each in found if each.where.startswith("publish")) == math.inf


def test_workers_beat_and_renew_as_the_client_does():
    assert lives.BEAT_SECONDS == loop.HEARTBEAT_SECONDS
    assert lives.RENEW_SECONDS == keeper.LONGEST_BETWEEN_SECONDS


def test_a_program_gets_one_document():
    result = CliRunner().invoke(app, ["--json", "--set", "work_seconds=30"])
    told = json.loads(result.stdout)
    assert told["assumed"]["work_seconds"] == 30
    assert set(told["lives"]) == {life.name for life in LIVES}


def test_a_person_gets_tables():
    result = CliRunner().invoke(app, [])
    assert (result.exit_code, "breaks at" in result.stdout) == (0, True)


@pytest.mark.parametrize("given", ["due_shard=3", "due_shards"])
def test_what_is_no_setting_is_refused(given):
    assert CliRunner().invoke(app, ["--set", given]).exit_code == 2


def test_the_record_says_what_breaks_first_as_the_model_does():
    rows = re.findall(r"^\| ([^|]+?) +\|(?:[^|]*\|){5} +([\d,]+)/s \|", RECORD.read_text(), re.MULTILINE)
    for life in LIVES:
        for each in ceilings(life, *tried(PROD, []))[:5]:
            assert (each.where, f"{each.breaks_at:,.0f}") in rows
