// A thread starts without the loader that its process registered: this registers it again, then runs the module asked for.
import { workerData } from 'node:worker_threads';
import { register } from 'tsx/esm/api';

register();
await import(workerData.module);
