import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin']

/** The Debian packages of those programs that are not here. @param tools  program → package */
export function lackingTools(tools: Readonly<Record<string, string>>): string[] {
  return Object.entries(tools).flatMap(([program, debian]) =>
    FOLDERS.some(folder => existsSync(join(folder, program))) ? [] : [debian],
  )
}
