/** The commands of partners: they need an API key, and storage keys to upload, and none of the settings of the service. */
import type { Command } from 'commander';
import { registerLoad } from '../load/commands/load.ts';
import { registerAudienceCommands } from './commands/audience.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerImportCommands } from './commands/import.ts';
import { registerLogin } from './commands/login.ts';
import { registerWebhookCommands } from './commands/webhook.ts';

export function registerPartnerCommands(program: Command): void {
  registerLogin(program);
  registerImportCommands(program);
  registerAudienceCommands(program);
  registerWebhookCommands(program);
  registerLoad(program);
  registerCompletion(program);
}
