"""The outcome of the gate for machines: JSON, and JUnit's XML, which systems for CI show."""

import json
from dataclasses import asdict
from xml.etree import ElementTree

from evenruler.results.comparison import NO_HEADLINE, NOT_MEASURED, Gate, GateCheck
from evenruler.terminal import escape_unprintable


def as_json(outcome: Gate) -> str:
    """The outcome as one line of JSON: the status, how many passed, failed or are not decided, and
    each of them.
    """
    checks = [asdict(check) for check in outcome.checks]
    content = {
        "status": outcome.status,
        "strict": outcome.strict,
        "passed": outcome.n_passed,
        "failed": len(outcome.failed_lines),
        "not_decided": dict(outcome.undecided_words),
        "checks": checks,
    }
    return json.dumps(content, ensure_ascii=False)


def as_junit(outcome: Gate) -> str:
    """The outcome as a test suite: what is not decided is skipped, and with `strict` an error."""
    suite = ElementTree.Element("testsuite", name="evenruler gate")
    for check in outcome.checks:
        _add_case(suite, check, is_strict=outcome.strict)
    if outcome.status == NOT_MEASURED:
        case = ElementTree.SubElement(suite, "testcase", classname="evenruler", name="results")
        ElementTree.SubElement(case, "error", message=NO_HEADLINE)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    ElementTree.indent(suite)
    return f"{ElementTree.tostring(suite, encoding='unicode', xml_declaration=True)}\n"


def _add_case(suite: ElementTree.Element, check: GateCheck, *, is_strict: bool) -> None:
    """Add a headline, comparison or bound to the suite, as a test case of its benchmark."""
    benchmark, _, name = check.name.partition(", ")
    message = escape_unprintable(check.line)  # which XML would not take
    case = ElementTree.SubElement(suite, "testcase", classname=benchmark, name=name)
    if check.outcome == "failed":
        ElementTree.SubElement(case, "failure", message=message)
    elif check.outcome == "not decided":
        tag = "error" if is_strict else "skipped"
        ElementTree.SubElement(case, tag, message=message)
