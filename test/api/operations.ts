/** The operations as the API declares them. Without dependencies, they can be inspected but not called. */
import { createOperations } from '../../api/resources/operations.ts';
import type { Dependencies } from '../../api/resources/shared.ts';
import { parseConfig } from '../../schemas/config.ts';
import { createBodies } from '../../schemas/http.ts';
import { readConfigFile } from '../support/env-file.ts';

export const config = parseConfig(readConfigFile('minimal.env'), 'api');
const bodies = createBodies({ pathBytes: config.limitPathBytes, keys: config.limitKeys });
export const operations = createOperations({ config, bodies } as Dependencies);
