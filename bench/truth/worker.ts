import { answer } from '../children/settings.ts';
import { simulateCell } from './cell.ts';

answer(simulateCell);
