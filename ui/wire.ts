/** What goes over the wire, route by route. Types only: nothing of the server is in the bundle. */
import type { PackageDetail, PackageItem, UploadResult } from '../server/catalog/view.ts'
import type { Role } from '../server/core/access.ts'
import type { Artifact } from '../server/features/artifacts/artifacts.ts'
import type { Dependencies } from '../server/features/artifacts/dependencies.ts'
import type { Install } from '../server/features/artifacts/install.ts'
import type { HistoryItem, Stats, Summary } from '../server/features/dashboard/dashboard.ts'
import type { DistributionCard, Initialized } from '../server/features/distributions/distributions.ts'
import type { HealthReport } from '../server/features/health/health.ts'

export type { Artifact, Dependencies, DistributionCard, HealthReport, HistoryItem, Initialized, Install, PackageDetail, PackageItem, Role, Stats, Summary, UploadResult }
export type { LiveEvent } from '../server/record/events.ts'
export type { StepView } from '../server/catalog/view.ts'
export type State = PackageItem['status']

export interface Page<T> { readonly items: readonly T[]; readonly total: number; readonly page: number; readonly per_page: number; readonly pages: number }

export interface RoleCard { readonly label: string; readonly description: string; readonly color: string }

export interface User {
  readonly username: string
  readonly role: Role
  readonly full_name?: string | null
  readonly email?: string | null
  readonly active: boolean
  readonly last_login?: string | null
  readonly created_at?: string | null
}
export interface Me extends User { readonly mfa_enabled?: boolean }

export interface ApiToken {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly created_at?: string | null
  readonly created_by?: string | null
  readonly expires_at?: string | null
  readonly last_used_at?: string | null
}
export interface NewApiToken { readonly token: string; readonly message: string; readonly prefix: string; readonly id?: string; readonly name?: string }

export interface SigningKey {
  readonly fingerprint: string
  readonly algorithm?: string
  readonly user_id?: string
  readonly created_at?: string
  readonly role?: string
  readonly retires_at?: string
}
export interface KeyInfo { readonly exists?: boolean; readonly keys?: readonly SigningKey[]; readonly fingerprint?: string | null }

export interface SetupStatus { readonly admin_exists: boolean; readonly setup_done: boolean; readonly needs_setup: boolean; readonly token_required?: boolean }

/** An access token, or what has to come before one. */
export interface Login { readonly access_token?: string; readonly token_type?: string; readonly mfa_required?: boolean; readonly mfa_setup_required?: boolean }

interface PackageQuery {
  readonly q?: string; readonly distribution?: string; readonly format?: string; readonly state?: string; readonly sort?: string
  readonly page?: number; readonly per_page?: number
}
interface Which { readonly distribution?: string; readonly arch?: string }
interface Deleted { readonly status: 'deleted'; readonly deleted: readonly { readonly name: string; readonly version: string; readonly arch: string; readonly distribution: string }[]; readonly published: boolean }

/** The routes that the console calls. */
export interface Wire {
  'GET /setup/status': { reply: SetupStatus }
  'POST /setup/': { body: { admin_username: string; admin_password: string }; headers?: Readonly<Record<string, string>>; reply: unknown }
  'POST /auth/token': { body: { username: string; password: string }; reply: Login }
  'GET /auth/me': { reply: Me }
  'POST /auth/change-password': { body: { current_password: string; new_password: string }; reply: unknown }
  'GET /auth/roles': { reply: { roles: Readonly<Record<Role, RoleCard>> } }
  'GET /auth/users': { reply: { users: readonly User[] } }
  'POST /auth/users': { body: { username: string; password: string; role: Role; full_name?: string; email?: string }; reply: User }
  'PATCH /auth/users/{username}': { params: { username: string }; body: { role?: Role; full_name?: string; email?: string; active?: boolean }; reply: User }
  'DELETE /auth/users/{username}': { params: { username: string }; reply: unknown }
  'POST /auth/users/{username}/reset-password': { params: { username: string }; body: { new_password: string }; reply: unknown }
  'GET /auth/api-tokens': { reply: { tokens: readonly ApiToken[] } }
  'POST /auth/api-tokens': { body: { name: string; role: Role; expires_days?: number }; reply: NewApiToken }
  'DELETE /auth/api-tokens/{token_id}': { params: { token_id: string }; reply: unknown }

  'GET /packages/': { query?: PackageQuery; reply: Page<PackageItem> }
  'GET /artifacts/{name}': { params: { name: string }; query?: Which; reply: Artifact }
  'GET /artifacts/{name}/dependencies': { params: { name: string }; query?: Which & { version?: string }; reply: Dependencies }
  'GET /artifacts/{name}/install': { params: { name: string }; query?: Which & { version?: string }; reply: Install }
  'DELETE /artifacts/{name}': { params: { name: string }; query?: Which; reply: Deleted }
  'DELETE /artifacts/{name}/{version}': { params: { name: string; version: string }; query?: Which; reply: Deleted }

  'GET /distributions/': { reply: { distributions: readonly DistributionCard[] } }
  'POST /distributions/init': { body: { codename?: string }; reply: Initialized }

  'GET /dashboard/summary': { reply: Summary }
  'GET /dashboard/stats': { reply: Stats }
  'GET /dashboard/history': { query?: { page?: number; per_page?: number; package?: string }; reply: Page<HistoryItem> }
  'GET /health': { reply: HealthReport }

  'GET /settings/': { reply: Readonly<Record<string, unknown>> }
  'GET /settings/gpg': { reply: KeyInfo }
  'POST /settings/gpg/generate': { body: Readonly<Record<string, never>>; reply: unknown }
}
