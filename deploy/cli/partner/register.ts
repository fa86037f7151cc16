/** The commands of partners: they need an API key, and storage keys to upload, and none of the settings of the service. */
import type { Command } from 'commander';
import { registerLoad } from '../load/register.ts';
import { registerAudienceCommands } from './audience-commands.ts';
import { registerCompletion } from './completion.ts';
import { registerImportCommands } from './import-commands.ts';
import { registerLogin } from './login.ts';
import { registerWebhookCommands } from './webhook-commands.ts';

export function registerPartnerCommands(program: Command): void {
  registerLogin(program);
  registerImportCommands(program);
  registerAudienceCommands(program);
  registerWebhookCommands(program);
  registerLoad(program);
  registerCompletion(program);
}
