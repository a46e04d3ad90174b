import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Preloaded into a server, this keeps the server from syncing the WAL before it answers. A run that
 * does not find the losses of such a server is blind.
 */

fs.fdatasync = Object.assign(
  (...[, done]: Parameters<typeof fs.fdatasync>) => void setImmediate(done, null),
  { __promisify__: fs.fdatasync.__promisify__ },
);
syncBuiltinESMExports();
