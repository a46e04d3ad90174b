import { backup } from './backup.ts';
import { completion } from './completion.ts';
import { copy } from './copy.ts';
import { doctor } from './doctor.ts';
import { exportPlantsCommand } from './export.ts';
import { importPlantsCommand } from './import.ts';
import { plantsCount, plantsGet, plantsList } from './plants.ts';
import { prove } from './prove.ts';
import { restore } from './restore.ts';
import { serve } from './serve.ts';
import { tokenCreate, tokenList, tokenRevoke } from './token.ts';
import { verify } from './verify.ts';

/** Every command, in the order and under the headings of the help. */
export const commandGroups = [
  { heading: 'The service', commands: [serve, doctor, prove] },
  { heading: 'Tokens', commands: [tokenCreate, tokenList, tokenRevoke] },
  { heading: 'Plants', commands: [plantsGet, plantsList, plantsCount] },
  { heading: 'Moving data', commands: [exportPlantsCommand, importPlantsCommand, copy] },
  { heading: 'Backups', commands: [backup, restore, verify] },
  { heading: 'The shell', commands: [completion] },
];

export const commands = commandGroups.flatMap((group) => group.commands);
