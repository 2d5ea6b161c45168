/**
 * A named place where a test may stop the process as a power cut would. Does nothing unless `GATEHOUSE_FAILPOINT` names
 * it, which only the crash tests set: then the process kills itself with SIGKILL. `FAILPOINTS` lists the names, so that
 * the crash test visits each.
 */
export const FAILPOINTS = [
  'spool:before-done',
  'pool:before-rename',
  'catalog:before-commit',
  'catalog:after-commit',
  'manifest:before-write',
  'manifest:after-write',
  'audit:before-append',
  'audit:after-append',
  'publish:before-build',
  'publish:before-verify',
  'publish:before-rename',
  'publish:before-swap',
  'publish:after-swap',
  'publish:before-done',
] as const
/** Those of rarer changes, which the tests in `test/daemon/` visit. */
export const RARE_FAILPOINTS = [
  'distribution:before-trees',
  'document:before-commit',
  'document:before-settle',
  'rebuild:after-batch',
  'downloads:before-commit',
  'audit:before-cut',
  'audit:after-cut',
  'audit:between-files',
  'audit:before-cut-done',
  'restore:read',
  'restore:before-decision',
  'restore:before-commit',
  'restore:after-commit',
  'restore:between-places',
  'target:after-blob',
  'target:before-snapshot',
  'import:after-item',
  'import:planned',
  'bundle:after-package',
  'review:after-batch',
] as const
export type Failpoint = (typeof FAILPOINTS)[number] | (typeof RARE_FAILPOINTS)[number]

let armed: string | undefined
let countdown = 0

/**
 * Arms one point: `name`, or `name#3` for the third visit. `main.ts` calls it once with the value of the environment.
 */
export function armFailpoint(text: string | undefined): void {
  const match = /^(.+?)(?:#(\d+))?$/.exec(text ?? '')
  armed = match?.[1]
  countdown = Number(match?.[2] ?? 1)
}

export function failpoint(name: Failpoint): void {
  if (armed !== name || --countdown > 0) return
  process.kill(process.pid, 'SIGKILL')
}
