/**
 * What goes over the wire, route by route: the server's own rows. Types only: nothing of the server is in the bundle.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import type { Api } from '../server/api.ts'

export type { PackageDetail, PackageItem, StepView } from '../server/catalog/view.ts'
export type { UploadReply as UploadResult } from '../server/features/uploads/result.ts'
export type { Contradiction } from '../server/core/contradictions.ts'
export type { Role } from '../server/core/access.ts'
export type { LoginWay } from '../server/core/login-way.ts'
export type { Artifact } from '../server/features/artifacts/artifacts.ts'
export type { Stats } from '../server/features/dashboard/stats.ts'
export type { HistoryItem, Summary } from '../server/features/dashboard/dashboard.ts'
export type { DistributionCard, Initialized } from '../server/features/distributions/init.ts'
export type { HealthReport } from '../server/features/health/health.ts'
export type { DecideReply } from '../server/features/review/contract.ts'
export type { VersionCves, VersionDecision } from '../server/review/version-view.ts'
export type { DecisionView } from '../server/review/history.ts'
export type { VexChange, VexDocumentView as VexDocument } from '../server/features/supplier-vex/contract.ts'
export type { Move } from '../server/features/policy/preview.ts'
export type { ReviewItem } from '../server/review/queue.ts'
export type { Vulnerability } from '../server/review/vulnerabilities.ts'
export type { AuditFacts } from '../server/record/audit-facts.ts'
export type { LiveEvent } from '../server/record/events.ts'
export type { MarkKind, SaidMark } from '../server/core/mark.ts'
export type { State } from '../server/core/manifest.ts'

type PathParams<Key> = Key extends `${string}{${infer Name}}${infer Rest}` ? Name | PathParams<Rest> : never
type ParamsOf<Key> = [PathParams<Key>] extends [never]
  ? unknown
  : { readonly params: { readonly [Name in PathParams<Key>]: string } }
type QueryOf<R> = R extends { readonly query: infer Q extends TSchema } ? { readonly query?: Static<Q> } : unknown
type BodyOf<R> = R extends { readonly body: infer B extends TSchema } ? { readonly body: Static<B> } : unknown
type ReplyOf<R> = R extends { readonly reply: infer P extends TSchema } ? Static<P> : undefined

/** Every route that answers JSON: what a call gives, and what it gets. */
export type Wire = {
  readonly [Key in keyof Api]: {
    readonly ask: ParamsOf<Key> & QueryOf<Api[Key]> & BodyOf<Api[Key]>
    readonly reply: ReplyOf<Api[Key]>
  }
}
export type Reply<Key extends keyof Wire> = Wire[Key]['reply']

export type Me = Reply<'GET /auth/me'>
export type User = Reply<'GET /auth/users'>['users'][number]
export type ApiToken = Reply<'GET /auth/api-tokens'>['tokens'][number]
export type RoleCards = Reply<'GET /auth/roles'>['roles']
export type Documents = Reply<'GET /distributions/{codename}/documents'>
export type FormatCard = Reply<'GET /formats'>['formats'][number]
export type SetupStatus = Reply<'GET /setup/status'>
export type KeyInfo = Reply<'GET /settings/gpg'>
export type UploaderKey = Reply<'GET /uploader-keys'>['keys'][number]
export type ImageKey = Reply<'GET /image-keys'>['keys'][number]
export type Group = Reply<'GET /access/groups'>['groups'][number]
export type Engines = Reply<'GET /security/engines'>

/** What the antivirus engine says of itself, with the values that its row leaves open. */
export interface ClamavStatus {
  readonly ok: boolean
  readonly enabled: boolean
  readonly when_unavailable: Reply<'GET /security/clamav/status'>['when_unavailable']
  readonly warning: string | null
  readonly engine: string
  readonly version: string | null
  readonly signatures_version: string | null
  readonly signatures_at: string | null
  readonly signatures_age_hours: number | null
  readonly error?: string
  readonly databases: readonly {
    readonly file: string
    readonly version: string | null
    readonly signatures: number | null
    readonly built_at: string
  }[]
}
