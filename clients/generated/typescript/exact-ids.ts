declare global {
  interface JSON {
    rawJSON(text: string): object;
  }
  interface BigInt {
    toJSON(): object;
  }
}

/** `JSON.stringify` writes each digit of a bigint. Without this method it throws a TypeError. */
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON(`${this}`);
};

export {};
