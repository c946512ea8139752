"""The row of tabs above the panel: which one is in front is the server's to know, and the same in all windows.

viser's own tabs are a matter of each window, and the server never hears which one a user looks at. So the row is drawn
here, and each tab's controls are in a folder without a title that is visible while it is in front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..view.theme import plain
from .controls import assign
from .pointer import hidden

if TYPE_CHECKING:
    from ..core.session import Session

MARK = "tab:"
STYLE = (
    "<style>.posable-tabs {display: flex; margin: 0 0.5em 0.4em; border-bottom: 1px solid #8884}"
    ".posable-tabs button {flex: 1 1 auto; border: 0; background: none; color: inherit; font: inherit; font-size: 12px;"
    "padding: 0.55em 2px; cursor: pointer; border-bottom: 2px solid transparent; opacity: 0.75; white-space: nowrap}"
    ".posable-tabs button[aria-selected=true] {border-color: currentColor; opacity: 1; font-weight: 600}</style>"
)
SEND = (
    "const i=document.querySelector('input[value^=\\'tab:\\']');if(i){"
    "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').set.call(i,'tab:'+this.dataset.tab);"
    "i.dispatchEvent(new Event('input',{bubbles:true}));}"
)


class TabBar:
    """The row, here in the panel; `chosen` is called with the title of a tab that a user presses."""

    def __init__(self, session: Session, titles: tuple[str, ...], chosen: Callable[[str], None]) -> None:
        self._titles, self._chosen = titles, chosen
        self._field = session.gui.add_text("tab", MARK)
        self._field.on_update(session.guarded(self._received))
        self._html = session.gui.add_html("")

    def show(self, title: str) -> None:
        """Mark the tab in front."""
        assign(self._field, f"{MARK}{title}")
        buttons = "".join(
            f'<button role="tab" type="button" data-tab="{plain(one)}" aria-selected="{str(one == title).lower()}" '
            f'onclick="{SEND}">{plain(one)}</button>'
            for one in self._titles
        )
        self._html.content = f'{STYLE}{hidden(MARK)}<div class="posable-tabs" role="tablist">{buttons}</div>'

    def _received(self, event: Any) -> None:
        title = str(event.target.value).removeprefix(MARK)
        if title in self._titles:
            self._chosen(title)
