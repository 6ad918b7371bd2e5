// Browsers refuse fetch() where a site is opened from files: the text of its pages is in a script.
if (location.protocol === "file:") {
  const root = document.documentElement.dataset.content_root;
  const loaded = new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${root}_static/pages.js`;
    script.onload = resolve;
    document.head.append(script);
  });
  window.fetch = async (address) => {
    await loaded;
    const text = PAGES[address.slice(root.length).replace(/\.html$/, "")] ?? "";
    return new Response(`<div role="main">${text}</div>`);
  };
}
