// A line that says what happened. Its text is text and nothing else, and a screen reader hears it change.

const MARKS = { info: "", done: "✓ ", busy: "… ", warning: "⚠ ", error: "✗ " };

function render({ model, el }) {
  const line = document.createElement("div");
  line.className = "dsh-notice";
  // Errors are read at once, the rest when the reader pauses.
  const paint = () => {
    const kind = model.get("kind");
    const text = model.get("text");
    line.dataset.kind = kind;
    line.setAttribute("role", kind === "error" ? "alert" : "status");
    line.hidden = text === "";
    line.textContent = text === "" ? "" : (MARKS[kind] ?? "") + text;
  };
  model.on("change:kind", paint);
  model.on("change:text", paint);
  el.append(line);
  paint();
  return () => {
    model.off("change:kind", paint);
    model.off("change:text", paint);
    line.remove();
  };
}

export default { render };
