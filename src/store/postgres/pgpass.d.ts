declare module 'pgpass' {
  function pgpass(
    of: { host: string; port: number; database: string; user: string },
    done: (password: string | undefined) => void,
  ): void;
  namespace pgpass {
    function warnTo(stream: import('node:stream').Writable): void;
  }
  /** Looks into ~/.pgpass or the file of PGPASSFILE (libpq-pgpass.html). */
  export default pgpass;
}
