// A button that acts when all that was typed before it has arrived.
//
// What is typed travels as state, which is held back while an earlier change is under way, and a plain click would
// overtake it. So a click asks, the kernel answers, and the answer's answer acts: by then everything before it is there.

let count = 0;

function render({ model, el }) {
  const own = `${(count += 1)}-${Math.random()}`;
  const button = document.createElement("button");
  button.type = "button";
  const paint = () => {
    const expanded = model.get("expanded");
    button.className = `dsh-button${model.get("main") ? " dsh-main" : ""}`;
    button.textContent = model.get("description");
    button.title = model.get("tooltip");
    // Not `disabled`, which would take the focus away from who has just pressed it.
    button.setAttribute("aria-disabled", String(model.get("disabled")));
    if (expanded === null) button.removeAttribute("aria-expanded");
    else button.setAttribute("aria-expanded", String(expanded));
  };
  const press = () => {
    if (!model.get("disabled")) model.send({ type: "press", view: own });
  };
  const hear = (content) => {
    if (content?.type === "settle" && content.view === own) setTimeout(() => model.send({ type: "pressed", view: own }));
  };
  const traits = ["description", "tooltip", "disabled", "main", "expanded"];
  button.addEventListener("click", press);
  model.on("msg:custom", hear);
  for (const name of traits) model.on(`change:${name}`, paint);
  paint();
  el.append(button);
  return () => {
    model.off("msg:custom", hear);
    for (const name of traits) model.off(`change:${name}`, paint);
    button.remove();
  };
}

export default { render };
