// Charts are drawn when they come near the screen, one a task, so that the page stays responsive.
export function lazily(draw, { margin = "200px", onIdle = () => {}, onError }) {
  const queue = [];
  let busy = false;
  async function work() {
    if (busy) return;
    busy = true;
    try {
      while (queue.length) {
        const element = queue.shift();
        await draw(element);
        element.dataset.drawn = "yes";
        await new Promise((done) => setTimeout(done));
      }
    } catch (error) {
      queue.length = 0;
      onError(error);
    } finally {
      busy = false;
    }
    onIdle();
  }
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        watcher.unobserve(entry.target);
        queue.push(entry.target);
      }
      // Behind the paint that this came before: what is there already is seen first.
      requestAnimationFrame(() => setTimeout(work));
    },
    { rootMargin: margin },
  );
  return watcher;
}
