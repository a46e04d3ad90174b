import { backup } from './backup.ts';
import { doctor } from './doctor.ts';
import { plantsCount, plantsGet, plantsList } from './plants.ts';
import { prove } from './prove.ts';
import { restore } from './restore.ts';
import { serve } from './serve.ts';
import { tokenCreate, tokenList, tokenRevoke } from './token.ts';
import { verify } from './verify.ts';

/** Every command, in the order of the help. */
export const commands = [
  ...[serve, tokenCreate, tokenList, tokenRevoke, plantsGet, plantsList, plantsCount],
  ...[backup, restore, verify, doctor, prove],
];
