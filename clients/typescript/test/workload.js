// Plain JavaScript, because each runtime runs it as it is: Node 20, Bun, Deno, a browser.

/**
 * Creates plants through a network that lies, and writes a line of JSON for each outcome. Every
 * 50th plant takes the id of the plant before and another name, and every 51st has a name that is
 * refused.
 */
export async function createThroughFaults({ createClient, createIdSource }, options, write) {
  const { url, token, count } = options;
  const store = createClient({ url, token: async () => token, attemptTimeout: 500 });
  const nextId = createIdSource(7);

  function* plants() {
    let id = nextId();
    for (let index = 0; index < count; index += 1) {
      const isConflict = index % 50 === 49;
      if (!isConflict) id = nextId();
      const name = index % 51 === 50 ? 'a\0b' : `Plant ${index} "Ёлка" 🌲\n`;
      const tag = [undefined, '', 'Alnus'][index % 3];
      yield { id, name: isConflict ? `${name}?` : name, tag };
    }
  }

  await store.createPlants(plants(), {
    concurrency: 32,
    onRefusal: 'continue',
    onResult({ outcome, plant: { id, name, tag }, error: { code } = {} }) {
      return write(JSON.stringify({ id: `${id}`, name, tag, outcome, code }));
    },
  });
}
