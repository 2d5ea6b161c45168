import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** The logs that this service writes: its own lines, and one line for each request of a tree. */
export type OwnLog = 'gatehouse' | 'trees'

/** One log with the files before it, oldest first; the last one is being written. */
export interface LogSeries {
  readonly name: string
  readonly files: readonly string[]
}

/** The name of a log's files. Each machine over a shared folder writes its own. */
export const seriesName = (log: OwnLog, host: string): string => `${log}-${host.replace(/[^\w.-]/g, '_')}`

const FINISHED = /\.\d{8}T\d{9}-\d+$/

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** The files that this service's machines wrote, a series for each machine. */
export async function ownSeries(folder: string, log: OwnLog): Promise<LogSeries[]> {
  const series = new Map<string, string[]>()
  for (const file of (await namesIn(folder)).sort()) {
    if (!file.startsWith(`${log}-`) || !file.endsWith('.log')) continue
    const name = file.slice(0, -'.log'.length).replace(FINISHED, '')
    series.set(name, [...(series.get(name) ?? []), file])
  }
  return [...series].map(([name, files]) => ({
    name,
    // the one that is written has no time in its name
    files: [...files.filter(file => file !== `${name}.log`), ...files.filter(file => file === `${name}.log`)].map(
      file => join(folder, file),
    ),
  }))
}

/** What logrotate appends to a name: `.1`, `-20261123`, `-20261123-1700000000`; and `.gz` behind it. */
const ROTATED = /^(?:\.\d+|[-.]\d{4}-?\d{2}-?\d{2}(?:[-.T]\d+)?)(\.gz)?$/

/** A log that another program writes, with what logrotate made of it, packed files too; undefined without any. */
export async function rotatedSeries(path: string): Promise<LogSeries | undefined> {
  const [folder, name] = [dirname(path), basename(path)]
  const rotated = (await namesIn(folder)).filter(one => one.startsWith(name) && ROTATED.test(one.slice(name.length)))
  const found = await Promise.all(
    [...rotated, name].map(async one => ({
      file: join(folder, one),
      mtimeMs: (await stat(join(folder, one)).catch(() => undefined))?.mtimeMs,
      isLast: one === name,
    })),
  )
  const files = found
    .filter(({ mtimeMs }) => mtimeMs !== undefined)
    .sort((a, b) => Number(a.isLast) - Number(b.isLast) || (a.mtimeMs ?? 0) - (b.mtimeMs ?? 0))
    .map(({ file }) => file)
  return files.length === 0 ? undefined : { name, files }
}
