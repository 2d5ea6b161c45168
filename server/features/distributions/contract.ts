import { Type } from '@sinclair/typebox'
import { KindQuery, OrderQuery, PACKAGE_QUERY, PackageItemSchema } from '../../catalog/schemas.ts'
import type { Page } from '../../catalog/page.ts'
import type { PackageItem } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import type { ClientSetups } from './client-setups.ts'
import type { Difference, Summary } from './compare.ts'
import type { FormatCard } from './format-cards.ts'
import type { GenerationList, RolledBack } from './generations.ts'
import type { DistributionCard, Initialized } from './init.ts'
import type { Migrated } from './migrate.ts'
import type { Promoted } from './promote.ts'
import { CodenamePath } from '../../core/schemas.ts'

const Card = Type.Object({
  codename: Type.String(),
  format: Type.String(),
  label: Type.String(),
  name: Type.String(),
  full_name: Type.String(),
  os: Type.String(),
  badge: Type.String(),
  color: Type.String(),
  package_count: Type.Integer(),
  component: Type.String(),
  architectures: Type.Array(Type.String()),
  components: Type.Array(Type.String()),
  suite: Type.String(),
  origin: Type.String(),
  end_of_life: Type.Union([Type.String(), Type.Null()]),
  retired: Type.Boolean(),
  builtin: Type.Boolean(),
  based_on: Type.Union([Type.String(), Type.Null()]),
  scanner: Type.Union([Type.String(), Type.Null()]),
  description: Type.String(),
  initialized: Type.Boolean(),
  active: Type.Boolean(),
  publishable: Type.Boolean(),
  packages: Type.Integer(),
  pending: Type.Integer(),
  quarantined: Type.Integer(),
  generation: Type.Union([Type.Integer(), Type.Null()]),
  published_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  client_line: Type.String(),
  setup: Type.Array(Type.String()),
})

const ConfigFile = Type.Object({
  path: Type.String(),
  content: Type.String(),
  secret: Type.Optional(Type.Literal(true, { description: 'It has a token in it: only root may read it.' })),
})
const ConfigFiles = Type.Array(ConfigFile)

const Differences = Type.Array(
  Type.Object({
    name: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    target: Type.Union([Type.String(), Type.Null()]),
    standing: Type.String({ enum: ['new', 'newer', 'same', 'older', 'conflict'] }),
  }),
)
const Counts = Type.Object({
  new: Type.Integer(),
  newer: Type.Integer(),
  same: Type.Integer(),
  older: Type.Integer(),
  conflict: Type.Integer(),
})
const word = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }))
/** Both forms of the specification: `from_dist` or `from_distribution`. */
const ROAD = {
  from_dist: word(80),
  to_dist: word(80),
  from_distribution: word(80),
  to_distribution: word(80),
  dry_run: Type.Optional(Type.Boolean()),
}
const limit = { bucket: 'distributions', perMinute: 5 }
const Generation = Type.Object({
  n: Type.Integer(),
  at: Type.String({ format: 'date-time' }),
  packages: Type.Integer(),
  bytes: Type.Integer(),
  live: Type.Boolean(),
  from: Type.Optional(Type.Integer()),
  address: Type.String(),
})
const NumberOrNull = Type.Union([Type.Integer(), Type.Null()])

/** The packages of a distribution: a page of items, and all or the page's by name. */
export interface PackagesOf extends Page<PackageItem> {
  readonly codename: string
  readonly packages: readonly { readonly name: string; readonly version: string; readonly arch: string }[]
}

/** Listing distributions and their contents, setting them up, and copying packages between them. */
export const distributions = contract({
  'GET /formats': {
    summary: 'Every package format: its files, and what its trees can carry.',
    access: 'any',
    reply: Type.Object({
      formats: Type.Unsafe<readonly FormatCard[]>(
        Type.Array(
          Type.Object({
            id: Type.String(),
            label: Type.String(),
            word: Type.String(),
            endings: Type.Array(Type.String()),
            active: Type.Boolean(),
            release_words: Type.Boolean(),
            registry: Type.Boolean(),
            documents: Type.Boolean(),
          }),
        ),
      ),
    }),
  },
  'GET /distributions/': {
    summary: 'Lists every distribution with its packages counted and the line that a client needs.',
    access: 'any',
    reply: Type.Unsafe<{ readonly distributions: readonly DistributionCard[] }>(
      Type.Object({ distributions: Type.Array(Card) }),
    ),
  },
  'GET /distributions/{codename}/packages': {
    summary: 'Lists the packages of one distribution. Without `state`: those its index names.',
    access: 'any',
    params: Type.Object({ codename: Type.String({ maxLength: 80 }) }),
    query: Type.Object({ ...PACKAGE_QUERY, sort: Type.Optional(OrderQuery) }),
    details:
      '`packages` names all of them, or those of the page where `page` or `per_page` is given; `items` is always a page.',
    reply: Type.Unsafe<PackagesOf>(
      Type.Object({
        codename: Type.String(),
        packages: Type.Array(Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String() })),
        items: Type.Array(PackageItemSchema),
        total: Type.Integer(),
        page: Type.Integer(),
        per_page: Type.Integer(),
        pages: Type.Integer(),
      }),
    ),
    fails: ['distribution_not_found'],
  },
  // The endpoint table says admin, the permission summary maintainer and admin: every row of the summary is to hold.
  'POST /distributions/init': {
    summary:
      'Sets up one distribution, or all active ones, and publishes their trees. Creates the signing key if there is none.',
    leader: true,
    access: 'maintainer+',
    scoped: 'distribution',
    limit: { bucket: 'distributions', perMinute: 5 },
    body: Type.Object({
      codename: Type.Optional(Type.Union([Type.String({ maxLength: 80 }), Type.Null()])),
      description: Type.Optional(Type.Union([Type.String({ maxLength: 500 }), Type.Null()])),
    }),
    reply: Type.Unsafe<Initialized>(
      Type.Object({
        status: Type.String({ enum: ['ok', 'pending'] }),
        message: Type.String(),
        initialized: Type.Array(Type.String()),
        pending: Type.Array(Type.String()),
        key_generated: Type.Boolean(),
        fingerprint: Type.String(),
        distributions: Type.Array(Card),
      }),
    ),
    fails: ['unknown_distribution', 'not_publishable', 'format_not_active'],
  },
  'GET /distributions/{codename}/setup': {
    summary: 'Shows how a client is set up for this distribution: files, commands, public key.',
    access: 'any',
    params: CodenamePath,
    fails: ['distribution_not_found'],
    reply: Type.Unsafe<ClientSetups>(
      Type.Object({
        codename: Type.String(),
        format: Type.String(),
        label: Type.String(),
        key_url: Type.Union([Type.String(), Type.Null()]),
        public_key: Type.Union([Type.String(), Type.Null()]),
        fingerprints: Type.Array(Type.String(), {
          description: 'Of OpenPGP keys theirs, of an RSA key the SHA-256 of its DER form.',
        }),
        token_place: Type.Union([Type.String(), Type.Null()], {
          description: 'What stands in the lines where a token belongs; null where the tree asks for none.',
        }),
        clients: Type.Array(
          Type.Object({
            manager: Type.String(),
            line: Type.String(),
            setup: Type.Array(Type.String()),
            refresh: Type.String(),
            check: Type.String({ description: 'Prints the fingerprint of the key.' }),
            docker: Type.Object({
              lines: Type.Array(Type.String()),
              secret: Type.Union([ConfigFile, Type.Null()]),
              build: Type.String(),
            }),
            files: ConfigFiles,
            optional: Type.Array(
              Type.Object({ kind: KindQuery, files: ConfigFiles, setup: Type.Array(Type.String()) }),
            ),
          }),
        ),
      }),
    ),
  },
  'POST /distributions/promote': {
    summary:
      'Publishes one package in a second distribution: same bytes, same decision, no new scan. `dry_run` only compares.',
    access: 'maintainer+',
    scoped: 'distribution',
    edition: 'promote',
    limit,
    body: Type.Object({ package: word(300), name: word(300), version: word(300), arch: word(80), ...ROAD }),
    reply: Type.Unsafe<Promoted>(
      Type.Object({
        status: Type.String({ enum: ['promoted', 'unchanged', 'pending', 'dry_run'] }),
        message: Type.String(),
        package: Type.String(),
        version: Type.String(),
        from: Type.String(),
        to: Type.String(),
        packages: Differences,
      }),
    ),
    fails: [
      'unknown_distribution',
      'same_distribution',
      'other_format',
      'signature_required',
      'distribution_retired',
      'registry_takes_no_uploads',
      'missing_property',
      'two_answers',
      'package_not_found',
      'version_not_found',
      'not_promotable',
      'duplicate_conflict',
    ],
  },
  'POST /distributions/migrate': {
    summary:
      'Publishes all or the listed packages of a distribution in a second one; the source is unchanged. `dry_run` only compares.',
    access: 'maintainer+',
    scoped: 'distribution',
    edition: 'migrate',
    limit,
    body: Type.Object({
      packages: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { maxItems: 100_000 })),
      ...ROAD,
    }),
    reply: Type.Unsafe<Migrated>(
      Type.Object({
        status: Type.String({ enum: ['ok', 'partial', 'failed', 'pending', 'dry_run'] }),
        message: Type.String(),
        from: Type.String(),
        to: Type.String(),
        migrated: Type.Integer(),
        manifests_updated: Type.Integer(),
        unchanged: Type.Integer(),
        packages: Type.Array(Type.String()),
        differences: Differences,
        errors: Type.Array(Type.Object({ package: Type.String(), error: Type.String() })),
        difference: Counts,
      }),
    ),
    fails: [
      'unknown_distribution',
      'same_distribution',
      'other_format',
      'signature_required',
      'missing_property',
      'two_answers',
      'distribution_retired',
      'registry_takes_no_uploads',
    ],
  },
  'GET /distributions/{codename}/compare': {
    summary: 'Compares what two distributions serve: new, newer, same, older, in conflict.',
    access: 'any',
    params: CodenamePath,
    query: Type.Object({ with: Type.String({ maxLength: 80 }) }),
    reply: Type.Unsafe<{
      readonly from: string
      readonly to: string
      readonly difference: Summary
      readonly packages: readonly Difference[]
    }>(Type.Object({ from: Type.String(), to: Type.String(), difference: Counts, packages: Differences })),
    fails: ['unknown_distribution', 'same_distribution', 'other_format'],
  },
  'GET /distributions/{codename}/generations': {
    summary: 'Lists the generations that are kept, newest first, each with the address where it can still be read.',
    access: 'any',
    params: CodenamePath,
    fails: ['distribution_not_found'],
    reply: Type.Unsafe<GenerationList>(
      Type.Object({
        codename: Type.String(),
        live: NumberOrNull,
        rolled_back_to: NumberOrNull,
        newest: NumberOrNull,
        generations: Type.Array(Generation),
      }),
    ),
  },
  'POST /distributions/{codename}/rollback': {
    summary:
      'Publishes an earlier generation again. Without `generation`: the one before, or the newest if already rolled back.',
    leader: true,
    access: 'maintainer+',
    limit,
    params: CodenamePath,
    body: Type.Object({
      generation: Type.Optional(Type.Integer({ minimum: 1 })),
      justification: word(1000),
      reason: word(1000),
    }),
    reply: Type.Unsafe<RolledBack>(
      Type.Object({
        status: Type.String({ enum: ['rolled_back', 'forward'] }),
        message: Type.String(),
        codename: Type.String(),
        generation: Type.Integer(),
        from: Type.Integer(),
        packages: Type.Integer(),
        left_out: Type.Array(Type.String()),
      }),
    ),
    fails: ['distribution_not_found', 'generation_not_kept'],
  },
})
