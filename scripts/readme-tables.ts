import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '../server/core/errors.ts'
import { ENV_TABLE } from '../server/env-table.ts'
import { createMetrics } from '../server/record/metrics.ts'
import { SETTINGS } from '../server/settings/schema.ts'
import { dependencyList, type Lock, type Manifest } from './dependencies.ts'

const ROOT = join(import.meta.dirname, '..')
const REFERENCE = join(ROOT, 'docs', 'reference.md')

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(row => `| ${row.map(cell).join(' | ')} |`).join('\n')
const code = (text: string): string => (text === '' ? '' : `\`${text}\``)

function envTable(): string {
  return table(
    ['variable', 'default', 'meaning'],
    ENV_TABLE.map(({ name, default: value = '', description, secret, required }) => [
      code(name),
      code(value),
      `${description}${secret === true ? ' Secret.' : ''}${required === 'production' ? ' Required when `ENV=production`.' : ''}`,
    ]),
  )
}

/** A schema node as JSON Schema has it, with what this service adds: unit and secret. */
interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly default?: unknown
  readonly description?: string
  readonly unit?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly secret?: true
  readonly inert?: string
}

/** Every setting with its dotted name. */
export function listSettings(
  node: Node = SETTINGS as Node,
  path = '',
  above?: string,
): { readonly key: string; readonly leaf: Node; readonly inert: string | undefined }[] {
  const inert = node.inert ?? above
  if (node.properties === undefined) return [{ key: path, leaf: node, inert }]
  return Object.entries(node.properties).flatMap(([name, child]) =>
    listSettings(child, path === '' ? name : `${path}.${name}`, inert),
  )
}

function bounds(leaf: Node): string {
  if (leaf.enum !== undefined) return leaf.enum.map(word => code(String(word))).join(', ')
  if (leaf.minimum !== undefined)
    return `${leaf.minimum} to ${leaf.maximum ?? ''}${leaf.unit === undefined ? '' : ` ${leaf.unit}`}`
  return ''
}

function settingsTable(): string {
  return table(
    ['setting', 'default', 'values', 'meaning'],
    listSettings().map(({ key, leaf, inert }) => [
      code(key),
      code(typeof leaf.default === 'string' ? leaf.default : JSON.stringify(leaf.default)),
      bounds(leaf),
      `${leaf.description ?? ''}${leaf.secret === true ? ' Encrypted at rest.' : ''}${inert === undefined ? '' : ` Cannot be changed: ${inert}.`}`,
    ]),
  )
}

function errorsTable(): string {
  return table(
    ['code', 'status', 'message'],
    Object.entries(ERRORS).map(([name, [status, message]]) => [code(name), String(status), message]),
  )
}

async function metricsTable(): Promise<string> {
  const metrics = createMetrics()
  for (const name of [
    'svc_packages_total',
    'svc_pending_review_total',
    'svc_quarantine_total',
    'svc_clamav_last_update',
    'svc_grype_db_age_seconds',
  ] as const)
    metrics.gauge(name, () => 0)
  const text = await metrics.text()
  return table(
    ['metric', 'kind', 'meaning'],
    [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(([, name = '', help = '', kind = '']) => [
      code(name),
      kind,
      help,
    ]),
  )
}

/** The reference with its tables as the code has them now. */
export async function withTables(reference: string): Promise<string> {
  const tables: Record<string, string> = {
    env: envTable(),
    settings: settingsTable(),
    errors: errorsTable(),
    metrics: await metricsTable(),
  }
  return reference.replace(
    /(<!-- table (\w+)[^>]*-->\n)[^]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n${tables[name] ?? ''}\n\n${end}`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(REFERENCE, await withTables(await readFile(REFERENCE, 'utf8')))
  const [manifest, lock] = await Promise.all(
    ['package.json', 'package-lock.json'].map(async (name): Promise<unknown> =>
      JSON.parse(await readFile(join(ROOT, name), 'utf8')),
    ),
  )
  await writeFile(join(ROOT, 'docs', 'dependencies.md'), dependencyList(manifest as Manifest, lock as Lock))
  process.stdout.write('Wrote docs/reference.md and docs/dependencies.md: commit them with the change.\n')
}
