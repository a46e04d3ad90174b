import { doctor } from './doctor.ts';
import { plantsCount, plantsGet, plantsList } from './plants.ts';
import { serve } from './serve.ts';
import { tokenCreate, tokenList, tokenRevoke } from './token.ts';

/** Every command, in the order of the help. */
export const commands = [serve, tokenCreate, tokenList, tokenRevoke, plantsGet, plantsList, plantsCount, doctor];
