import { answer } from '../../bench/children/settings.ts';
import { simulateCell } from './cell.ts';

answer(simulateCell);
