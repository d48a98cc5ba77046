#!/usr/bin/env python3
"""Builds the documentation as a site with mdBook, and checks its links.

    python3 docs/site/build.py [FOLDER]

The site is written to FOLDER, `target/site` if it is not given. `mdbook` has to be on PATH:
`pip install --require-hashes -r docs/site/requirements.txt`.

Pages link to files of the repository, such as protocols. These are copied into the site, at the same
place, so that the links of the pages hold there as they hold in the repository.
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^()\s]+)\)")


def pages() -> list[Path]:
    """The pages of the table of contents, relative to the root."""
    summary = ROOT / "docs/SUMMARY.md"
    targets = LINK.findall(summary.read_text())
    return [(summary.parent / target).resolve().relative_to(ROOT) for target in targets]


def linked(page: Path) -> set[Path]:
    """The files of the repository that a page links to, relative to the root."""
    found = set()
    for target in LINK.findall((ROOT / page).read_text()):
        name = target.partition("#")[0]
        if name and "://" not in target and not target.startswith("mailto:"):
            found.add(Path(os.path.normpath(page.parent / name)))
    return found


def stage(source: Path) -> None:
    """Copies the pages and what they link to, and writes the table of contents for that folder."""
    contents = pages()
    files = set(contents)
    for page in contents:
        files |= linked(page)
    for file in files:
        target = source / file
        if (ROOT / file).is_dir():
            # A folder has no page; its files are listed instead.
            names = sorted(entry.name for entry in (ROOT / file).iterdir() if entry.is_file())
            target.mkdir(parents=True, exist_ok=True)
            (target / "index.html").write_text("".join(f"{name}<br>\n" for name in names))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if file in contents:
            # mdBook calls the page of a folder index.html.
            text = (ROOT / file).read_text()
            target.write_text(LINK.sub(lambda m: m[0].replace("README.md", "index.md"), text))
        else:
            shutil.copyfile(ROOT / file, target)
    # mdBook wants the contents at the top of its folder.
    text = (ROOT / "docs/SUMMARY.md").read_text()
    moved = LINK.sub(lambda m: f"]({os.path.normpath(Path('docs') / m[1])})", text)
    (source / "SUMMARY.md").write_text(moved)


class Links(html.parser.HTMLParser):
    """Collects the links and the anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name, tag) in {("href", "a"), ("src", "img"), ("href", "link")}:
                self.links.append(value)
            if value and name in {"id", "name"}:
                self.anchors.add(value)


def parsed(page: Path) -> Links:
    parser = Links()
    parser.feed(page.read_text())
    return parser


def broken(site: Path) -> list[str]:
    """The links of the site that lead nowhere."""
    wrong = []
    known: dict[Path, Links] = {}
    for page in sorted(site.rglob("*.html")):
        # One page with everything, and the error page, have links relative to other places.
        if page.name in {"print.html", "404.html", "toc.html"}:
            continue
        for link in parsed(page).links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            name = urllib.parse.unquote(parts.path)
            aim = (page.parent / name).resolve() if name else page
            if aim.is_dir():
                aim = aim / "index.html"
            if not aim.exists():
                wrong.append(f"{page.relative_to(site)}: {link}")
            elif parts.fragment and aim.suffix == ".html":
                anchors = known.setdefault(aim, parsed(aim)).anchors
                if urllib.parse.unquote(parts.fragment) not in anchors:
                    wrong.append(f"{page.relative_to(site)}: {link}")
    return wrong


def main() -> int:
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/site").resolve()
    work = site.with_name(site.name + "-work")
    for folder in (site, work):
        shutil.rmtree(folder, ignore_errors=True)
    (work / "src").mkdir(parents=True)
    shutil.copyfile(ROOT / "docs/site/book.toml", work / "book.toml")
    stage(work / "src")
    subprocess.run(["mdbook", "build", "--dest-dir", str(site), str(work)], check=True)
    shutil.rmtree(work)
    wrong = broken(site)
    for link in wrong:
        print(f"a link leads nowhere: {link}", file=sys.stderr)
    print(f"{site}/index.html: {len(list(site.rglob('*.html')))} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
