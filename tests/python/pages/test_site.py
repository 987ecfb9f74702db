"""The site has what the package and the headers have, and only true links."""

import importlib
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpuos
import gpuos.typing

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
beyond, cpp, headers, notebook, numpydoc, python = map(
    importlib.import_module,
    (
        *("beyond", "cpp_reference", "headers", "notebook", "numpydoc"),
        "python_reference",
    ),
)
sys.path.pop(0)


@pytest.fixture(scope="module")
def python_pages():
    return python.pages(ROOT)


@pytest.fixture(scope="module")
def cpp_pages():
    return cpp.pages(ROOT)


def test_each_name_of_the_package_is_on_a_page(python_pages):
    titles = set(
        re.findall("^## `(.*)`", "".join(python_pages.values()), re.MULTILINE)
    )
    # Modules, which have separate pages, and a number.
    others = {"cache", "functions", "__version__"}
    assert set(gpuos.__all__) - others <= titles
    for module in (gpuos.functions, gpuos.cache, gpuos.typing):
        assert set(module.__all__) <= titles


def test_each_number_of_the_stats_is_explained(python_pages):
    page = python_pages["reference/python/typing.md"]
    told = re.findall(r"^- `(\w+): \w+`: \S", page, re.MULTILINE)
    assert told == [*gpuos.typing.Stats.__annotations__]
    assert "Backend = Literal['auto', 'host', 'cuda']" in page


ARRAY = gpuos.Runtime("host").ones((2, 2))
# Members that raise an error with the replacement.
REFUSED = {("Value", "item"), ("Value", "tolist")} | {
    ("Array", name)
    for name in (
        *("argpartition", "argsort", "choose", "compress", "nonzero"),
        *("partition", "searchsorted", "sort", "take"),
    )
}
REFUSED |= {("Array", n) for n in dir(ARRAY) if not hasattr(ARRAY, n)}


def members():
    for name in gpuos.__all__:
        kind = getattr(gpuos, name)
        if isinstance(kind, type):
            for member in vars(kind):
                if not member.startswith("_") and (name, member) not in REFUSED:
                    yield name, member


@pytest.mark.parametrize(("name", "member"), [*members()])
def test_each_member_is_on_the_page_of_its_class(python_pages, name, member):
    text = "".join(python_pages.values())
    of_class = re.search(
        rf"^## `{name}`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert of_class is not None
    # A field is in the block of its class.
    assert re.search(
        rf"^(### `{member}`|{member}: )", of_class[1], re.MULTILINE
    )


def test_docstrings_are_taken_over(python_pages):
    page = python_pages["reference/python/runtime.md"]
    assert "Queue one task and return its ticket." in page
    assert "- `out` (array): Receives the result." in page
    assert "- `QueueClosed`: If the runtime was closed." in page
    assert ">>> ticket = rt.submit" in page
    assert "_stop" not in "".join(python_pages.values())


DOC = """Return `x` * 2, of **any** <T>.

Parameters
----------
x : int
    A number
    of two lines.
*more : array

Returns
-------
int

Examples
--------
>>> f(1)
2
"""


def test_numpys_form_becomes_markdown():
    assert numpydoc.markdown(DOC) == (
        "Return `x` \\* 2, of \\*\\*any\\*\\* &lt;T>.\n"
        "\n**Parameters**\n\n"
        "- `x` (int): A number of two lines.\n- `*more` (array)\n"
        "\n**Returns**\n\nint\n"
        "\n**Examples**\n\n```pycon\n>>> f(1)\n2\n```\n"
    )
    assert numpydoc.markdown(None) == ""


# An independent list of the names, without parsing the header.
DECLARED = re.compile(
    r"^(?:class|struct|enum class) (?:alignas\(\d+\) |GPUOS_API )?(\w+)[^;]*?\{",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("include/gpuos/*.h")), ids=lambda x: x.stem
)
def test_a_header_has_its_types_and_comments(path, cpp_pages):
    text = path.read_text()
    names = set(DECLARED.findall(text))
    page = cpp_pages.get(f"reference/cpp/{path.stem}.md", "")
    assert names <= set(re.findall("^## `(.*)`", page, re.MULTILINE))
    # Each line of a comment is there, except private ones.
    public = re.sub(
        r"^ private:.*?^\};", "", text, flags=re.MULTILINE | re.DOTALL
    )
    flat = " ".join(re.sub(r"\*\*|\\", "", page).replace("&lt;", "<").split())
    for line in re.findall(r"^ *///[ ](.+)$", public, re.MULTILINE):
        plain = " ".join(numpydoc.escaped(line).split())
        plain = re.sub(r"\*\*|\\", "", plain).replace("&lt;", "<")
        assert plain.replace("&amp;", "&") in flat.replace("&amp;", "&")


HEADER = """#pragma once
namespace gpuos {
class Ahead;

/// Of a type.
/// Throws: Error.
template <typename T>
class Box : public Base<T> {
 public:
  Box() = default;
  explicit Box(int n) : n_(n), all_{n} {}
  ~Box();
  /// How many.
  int size() const { return n_; }
  int twice(
      int by = 2) const noexcept;

  int field = 0;  // with a comment

 private:
  /// Hidden.
  int n_;
};

/// A function; "}" is text.
inline std::string text(char open = '{') {
  return "}";
}
}  // namespace gpuos
"""


def test_declarations_of_a_header():
    box, text = headers.declarations(HEADER.splitlines())
    assert (box.name, box.doc) == ("Box", "Of a type.\nThrows: Error.")
    assert box.code == "template <typename T>\nclass Box : public Base<T>;"
    assert [(x.code, x.doc, x.follows) for x in box.members] == [
        ("explicit Box(int n);", "", False),
        ("int size() const;", "How many.", False),
        ("int twice(\n    int by = 2) const noexcept;", "", True),
        ("int field = 0;  // with a comment", "", False),
    ]
    assert text.code == "inline std::string text(char open = '{');"
    assert text.name == "text"


@pytest.mark.parametrize(
    ("uri", "link", "there"),
    [
        ("index.md", "torch.md#how", "torch.md#how"),
        ("index.md", "../README.md", "tree/README.md"),
        ("lab/README.md", "../design.md", "../design.md"),
        ("lab/README.md", "../../README.md", "../tree/README.md"),
        ("tree/README.md", "docs/torch.md", "../torch.md"),
        ("tree/README.md", "LICENSE", "LICENSE.md"),
        ("torch.md", "../scripts", "tree/scripts/README.md"),
        ("torch.md", "../scripts/test", "tree/scripts/test.md"),
        ("torch.md", "nowhere.md", "nowhere.md"),
        ("torch.md", "https://x.org/a.md", "https://x.org/a.md"),
        (
            "sessions.md",
            "../examples/notebooks/session.ipynb",
            "tree/examples/notebooks/session.md",
        ),
    ],
)
def test_links_lead_to_where_pages_are_in_the_site(uri, link, there):
    code = f"```cpp\n[a]({link})\n```\n"
    text = code + "see [a\nb]({}).\n" + code + "and\n"
    page = beyond.with_links_of_the_site(ROOT, uri, text.format(link))
    assert page == text.format(there)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("design.md", "Design"),
        ("../docs/design.md", "Design"),
        ("its design", "its design"),
    ],
)
def test_the_name_of_a_file_is_shown_as_its_title(words, said):
    text = f"[{words}](../docs/design.md#order)"
    page = beyond.with_links_of_the_site(ROOT, "tree/cpp/README.md", text)
    assert page == f"[{said}](../../design.md#order)"


def test_linked_pages_exist(python_pages):
    pages = beyond.pages(ROOT, python_pages)
    assert "tree/README.md" in pages
    # By a link of a page that is linked itself.
    assert "tree/cpp/README.md" in pages
    assert (
        "`tests/python/arrays/test_wrong_metadata.py`"
        in pages["tree/tests/python/arrays/test_wrong_metadata.py.md"]
    )


def test_a_notebook_is_shown_with_its_outputs():
    path = ROOT / "examples" / "notebooks" / "session.ipynb"
    page = notebook.page(path.read_text(encoding="utf-8"))
    assert "# A session, cell by cell" in page
    assert "````cpp\n%%cuda session" in page
    assert '````text title="Output"\n3 values, 0 launches\n' in page


def rows():
    """The lines of the table on the first page: which one do I want?"""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    table = text.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_rows_name_existing_functions_and_pages(row):
    have, want, take = row
    assert have
    assert want
    assert len(re.findall(r"\]\((\w+)\.md\)", take)) == 1
    kinds = {"gpuos": gpuos, "rt": gpuos.Runtime}
    for first, name in re.findall(r"`(gpuos|rt)\.(\w+)", take):
        if name == "torch":
            continue  # which may not be installed
        assert hasattr(kinds[first], name) or importlib.import_module(
            f"{first}.{name}"
        )


def test_the_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"^version: (.*)$", citation, re.MULTILINE)
    assert f"project(gpuos VERSION {version[1]}" in " ".join(build.split())


@pytest.mark.parametrize(
    ("uri", "page", "there"),
    [
        ("tree/README.md", "", "../pictures/gains-dark.svg"),
        ("tree/SUPPORT.md", "", "../../pictures/gains-dark.svg"),
        ("index.md", "../", "pictures/gains-dark.svg"),
        ("numbers.md", "../", "../pictures/gains-dark.svg"),
    ],
)
def test_pictures_are_found_from_where_a_page_is(uri, page, there):
    """HTML is taken as it is: addresses are those of the page's own folder."""
    text = '<source srcset="{}">\n```html\n<img src="docs/pictures/{}">\n```\n'
    gone = "gains-dark.svg"
    markdown = text.format(f"{page}docs/pictures/{gone}", gone)
    found = beyond.with_links_of_the_site(ROOT, uri, markdown)
    assert found == text.format(there, gone)
    other = '<img src="https://example.org/a.svg">\n'
    assert beyond.with_links_of_the_site(ROOT, uri, other) == other


def test_the_readmes_chart_is_in_the_site():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = beyond.with_links_of_the_site(ROOT, "tree/README.md", readme)
    for name in re.findall(r'src(?:set)?="([^"]*)"', found):
        # docs/ is the site's top, one above tree/.
        path = ROOT / "docs" / "tree" / name
        assert Path(os.path.normpath(path)).is_file(), name


@pytest.mark.parametrize(
    ("uri", "meta", "expected"),
    [
        ("tree/tests/install/README.md", {}, {"search": {"boost": 0.2}}),
        ("lab/build.md", {}, {"search": {"boost": 0.2}}),
        ("installing.md", {}, {}),
        ("tree/README.md", {}, {}),
        ("tree/examples/notebooks/session.md", {}, {}),
        ("tree/cpp/x.h.md", {"search": {"exclude": True}}, None),
    ],
)
def test_pages_for_users_are_found_first(uri, meta, expected):
    pytest.importorskip("mkdocs")
    sys.path.insert(0, str(ROOT / "scripts" / "site"))
    try:
        hooks = importlib.import_module("hooks")
    finally:
        sys.path.pop(0)
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri), meta=dict(meta))
    hooks.on_page_markdown("text", page, None, None)
    assert page.meta == (meta if expected is None else expected)
