import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'

/** Control groups of one machine alone: in those of this process, two machines would end each other's services. */
export interface ControlGroups {
  /** Words in front of the program that goes into them. */
  readonly within: readonly string[]
  close(): void
}

/** The hierarchies that systemd keeps services in: cgroup v2, and what stands for it where v1 is mounted. */
function hierarchies(): string[] {
  const paths = new Map<string, string>(
    readFileSync('/proc/self/cgroup', 'utf8')
      .split('\n')
      .map(line => /^\d+:(name=systemd|):(.*)$/.exec(line))
      .flatMap(found => (found === null ? [] : [[found[1] === '' ? 'cgroup2' : 'cgroup', found[2] ?? ''] as const])),
  )
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map(line => line.split(' '))
    .filter(([, , type = '', options = '']) => type === 'cgroup2' || (type === 'cgroup' && options.includes('name=')))
    .flatMap(([, at = '', type = '']) => (paths.has(type) ? [join(at, paths.get(type) ?? '')] : []))
}

/** Removes a group with those in it; what still has a process stays. */
function remove(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) remove(join(group, entry.name))
  try {
    rmdirSync(group)
  } catch {
    // a process of it ends late: nobody uses the group again
  }
}

export function ownControlGroups(name: string): ControlGroups {
  const groups = hierarchies().map(at => join(at, `gatehouse-${name}-${process.pid}`))
  for (const group of groups) mkdirSync(group, { recursive: true })
  const enter = groups.map(group => `echo $$ >${group}/cgroup.procs && `).join('')
  return {
    within: ['sh', '-c', `${enter}exec "$@"`, 'sh'],
    close: () => groups.forEach(remove),
  }
}
