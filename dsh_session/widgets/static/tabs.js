// Tabs over one panel. The kernel writes the panel that is asked for, as HTML in which every text of a log is escaped.

let count = 0;

function render({ model, el }) {
  const own = `dsh-tabs-${(count += 1)}`;
  const root = document.createElement("div");
  root.className = "dsh-tabs";
  const list = document.createElement("div");
  list.className = "dsh-tabs-list";
  list.setAttribute("role", "tablist");
  const panel = document.createElement("div");
  panel.className = "dsh-tabs-panel";
  panel.id = `${own}-panel`;
  panel.setAttribute("role", "tabpanel");
  panel.dataset.lmSuppressShortcuts = "true";
  panel.tabIndex = 0; // it may scroll, and then the keyboard must reach it
  root.append(list, panel);
  let tabs = [];

  const choose = (at, focus) => {
    model.set("selected", at);
    model.save_changes();
    paint();
    if (focus) tabs[at].focus();
  };
  const paint = () => {
    const selected = model.get("selected");
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === selected));
      tab.tabIndex = at === selected ? 0 : -1;
    });
    if (tabs[selected]) panel.setAttribute("aria-labelledby", tabs[selected].id);
  };
  const build = () => {
    list.setAttribute("aria-label", model.get("label"));
    tabs = model.get("names").map((name, at) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = `${own}-tab-${at}`;
      tab.textContent = name;
      tab.setAttribute("role", "tab");
      tab.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take arrows and letters for its own shortcuts
      tab.setAttribute("aria-controls", panel.id);
      tab.addEventListener("click", () => choose(at, false));
      return tab;
    });
    list.replaceChildren(...tabs);
    paint();
  };
  const fill = () => {
    const at = panel.scrollTop;
    panel.innerHTML = model.get("html");
    panel.scrollTop = at;
  };
  const press = (event) => {
    const at = model.get("selected");
    const last = tabs.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has meanings of its own for these keys
    choose(to, true);
  };
  list.addEventListener("keydown", press);
  const listening = { "change:names": build, "change:label": build, "change:selected": paint, "change:html": fill };
  for (const [name, handler] of Object.entries(listening)) model.on(name, handler);
  build();
  fill();
  el.append(root);
  return () => {
    for (const [name, handler] of Object.entries(listening)) model.off(name, handler);
    root.remove();
  };
}

export default { render };
