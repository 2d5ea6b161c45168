import type { PackageRef } from '../core/identity.ts'
import type { Viewer } from '../core/viewer.ts'

/** The kind of job that scans packages again that people name. */
export const RESCAN = 'rescan'

export interface RescanRequest {
  readonly refs: readonly PackageRef[]
  readonly viewer: Viewer
  readonly ip: string
}
