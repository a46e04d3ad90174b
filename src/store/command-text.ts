/** A command for a message, in quotes, and good in any folder. @param store as `Engine.url` */
export function commandOn(store: string, words: string): string {
  return `"plant-store ${words} --store ${shellQuoted(store)}"`;
}

/** A word for a shell. */
export function shellQuoted(text: string): string {
  return /^[A-Za-z0-9/._:@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
