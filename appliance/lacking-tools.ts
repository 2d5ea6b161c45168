import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin']

/** The Debian packages of what is not here. @param tools  program, or path of a file → package */
export function lackingTools(tools: Readonly<Record<string, string>>): string[] {
  const isHere = (tool: string): boolean =>
    isAbsolute(tool) ? existsSync(tool) : FOLDERS.some(folder => existsSync(join(folder, tool)))
  return Object.entries(tools).flatMap(([tool, debian]) => (isHere(tool) ? [] : [debian]))
}
