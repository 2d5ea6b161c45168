import type { Manifest } from '../core/manifest.ts'

/**
 * Why a version that came through the gate is not served, in the words of the steps that decided it. Engines that did
 * not answer are named where nothing else stood against it.
 */
export function whyNot({ review, reports }: Pick<Manifest, 'review' | 'reports'>): string {
  if (review?.held_for !== undefined) return review.held_for
  const stands = reports.filter(({ outcome, holds }) => outcome === 'failed' || holds === true)
  const said = stands.length > 0 ? stands : reports.filter(({ outcome }) => outcome !== 'ok')
  return said.map(one => one.said).join(' ') || 'The policy decided so.'
}
