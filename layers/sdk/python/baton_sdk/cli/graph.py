"""``baton graph``: who starts whom, drawn in the terminal, as Mermaid, or as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, NamedTuple

import typer
from rich.text import Text
from rich.tree import Tree

from baton_sdk.cli.output import STATE_COLOURS
from baton_sdk.cli.session import Session
from baton_sdk.graph import Graph, ended
from baton_sdk.workflow import Link

DEPTH = 10


class Node(NamedTuple):
    """What starts workflows: a workflow, by its endings, or an event of one's own."""

    name: str
    is_event: bool = False


def graph(
    session: Session,
    form: Annotated[
        Literal["text", "mermaid", "json"] | None,
        typer.Option("--format", "-f", help="A drawing (default for a terminal), Mermaid, or JSON."),
    ] = None,
) -> None:
    """Show who starts whom: each workflow, and under it what its endings start.

    In a pipe it is one line for each link: what starts, by which ending or event, whom.

    \b
    Examples:
      baton graph
      baton graph --format mermaid > docs/workflows.mmd
    """
    with session.client() as client:
        found = client.graph()
    if session.out.as_json or form == "json":
        session.out.document(found.raw)
    elif form == "mermaid":
        for line in mermaid(found):
            session.out.write(line)
    elif form == "text" or session.out.for_person:
        for tree in drawn(found):
            session.out.console.print(tree)
        if not found.workflows and not found.edges:
            session.out.note("no workflows")
    else:
        session.out.table((), [(cause(edge).name, edge.event, edge.workflow) for edge in found.edges])


def cause(edge: Link) -> Node:
    """What a link starts from."""
    settled = ended(edge.event)
    return Node(edge.event, is_event=True) if settled is None else Node(settled[0])


def drawn(graph: Graph) -> Iterator[Tree]:
    """A tree for each that nothing starts; of a circle, for one of it. What a node starts is drawn once, and
    what is too deep for a screen begins a tree of its own."""
    starts: dict[Node, list[Link]] = defaultdict(list)
    for edge in graph.edges:
        starts[cause(edge)].append(edge)
    started = {Node(edge.workflow) for edge in graph.edges}
    nodes = sorted({*map(Node, graph.workflows), *starts, *started}, key=lambda n: (n in started, n))
    picture = _Picture(starts, frozenset(graph.workflows))
    for node in nodes:
        below = [node]
        while below:
            if (next_root := below.pop(0)) not in picture.seen:
                tree, cut = picture.tree(next_root)
                below += cut
                yield tree


class _Picture:
    """What is drawn already, and whom each node starts."""

    def __init__(self, starts: Mapping[Node, list[Link]], registered: frozenset[str]) -> None:
        self.seen: set[Node] = set()
        self._starts = starts
        self._registered = registered

    def tree(self, root: Node) -> tuple[Tree, list[Node]]:
        """A node over all that it starts, and those that were too deep to go on from."""
        top = Tree(_label(root, self._registered), guide_style="dim")
        cut: list[Node] = []
        left = self._below(top, root, 1)
        while left:
            above, edge, depth = left.pop()
            node = Node(edge.workflow)
            label = _arrow(edge, self._registered)
            if node not in self._starts:
                self.seen.add(node)
                above.add(label)
            elif node in self.seen:
                above.add(label.append("  … above", "dim"))
            elif depth >= DEPTH:
                cut.append(node)
                above.add(label.append("  … below", "dim"))
            else:
                left += self._below(above.add(label), node, depth + 1)
        return top, cut

    def _below(self, tree: Tree, node: Node, depth: int) -> list[tuple[Tree, Link, int]]:
        self.seen.add(node)
        return [(tree, edge, depth) for edge in reversed(self._starts.get(node, ()))]


def _label(node: Node, registered: frozenset[str]) -> Text:
    if node.is_event:
        return Text.assemble((node.name, "bold cyan"), ("  event", "dim"))
    known = node.name in registered
    return Text.assemble((node.name, "bold"), ("" if known else "  not registered", "dim"))


def _arrow(edge: Link, registered: frozenset[str]) -> Text:
    settled = ended(edge.event)
    return Text.assemble(
        (f"{settled[1]} → ", STATE_COLOURS[settled[1]]) if settled else ("→ ", "cyan"),
        _label(Node(edge.workflow), registered),
        ("" if edge.where is None else f"  where {edge.where}", "dim"),
        ("" if edge.batch is None else f"  {edge.batch.mode} {edge.batch.window_seconds:g} s", "magenta"),
        ("  announced" if edge.announced else "", "dim"),
    )


def mermaid(graph: Graph) -> Iterator[str]:
    """The lines of a Mermaid flowchart. Names have no character that would need escaping between quotes."""
    nodes: dict[Node, str] = {}
    yield "flowchart LR"
    for node in _in_order(graph):
        nodes[node] = f"n{len(nodes)}"
        shape = '{id}(["{name}"])' if node.is_event else '{id}["{name}"]'
        yield "    " + shape.format(id=nodes[node], name=node.name)
    for edge in graph.edges:
        settled = ended(edge.event)
        arrow = {None: "-->", "completed": "-->|completed|", "failed": "-.->|failed|"}[settled and settled[1]]
        yield f"    {nodes[cause(edge)]} {arrow} {nodes[Node(edge.workflow)]}"


def _in_order(graph: Graph) -> Iterable[Node]:
    found = [*map(Node, graph.workflows)]
    for edge in graph.edges:
        found += [cause(edge), Node(edge.workflow)]
    return dict.fromkeys(found)
