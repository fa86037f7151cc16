/** Responses of the API. Types only: no schema is in the bundle. */
import type { z } from 'zod';
import type { account, usage } from '../../schemas/http-account.ts';
import type * as answers from '../../schemas/http-answers.ts';
import type { composition, compositionProgress } from '../../schemas/http-composition.ts';
import type { dryRun } from '../../schemas/http-dry-runs.ts';
import type * as hooks from '../../schemas/http-webhooks.ts';

export type Account = z.output<typeof account>;
export type Attribute = z.output<typeof answers.attribute>;
export type Audience = z.output<typeof answers.audience>;
export type Composition = z.output<typeof composition>;
export type Computing = z.output<typeof compositionProgress>;
export type DryRun = z.output<typeof dryRun>;
export type CreatedWebhook = z.output<typeof hooks.createdWebhook>;
export type Delivery = z.output<typeof hooks.delivery>;
export type DeliveryDetails = z.output<typeof hooks.deliveryDetails>;
export type FileReport = z.output<typeof answers.fileReport>;
export type ImportLog = z.output<typeof answers.importLog>;
export type ImportLogError = z.output<typeof answers.importLogError>;
export type Load = z.output<typeof answers.audienceLoad>;
export type Progress = z.output<typeof answers.progress>;
export type RejectedRow = z.output<typeof answers.rejectedRow>;
export type ReportLink = z.output<typeof answers.reportLink>;
export type Session = z.output<typeof answers.consoleSession>;
export type SignedUpload = z.output<typeof answers.signedUpload>;
export type Status = Audience['status'];
export type Usage = z.output<typeof usage>;
export type Webhook = z.output<typeof hooks.webhook>;
