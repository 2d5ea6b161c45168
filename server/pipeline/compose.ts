import { createUnpackedCopies } from '../files/unpacked.ts'
import type { Layout } from '../files/layout.ts'
import { createGate, type Gate, type GateDeps } from './gate.ts'
import { createPackageSigning, type PackageSigningDeps } from './package-signing.ts'
import { createSteps, type StepDeps } from './steps.ts'
import type { Step } from './subject.ts'
import { createUnpacking } from './unpacking.ts'

export interface GateNeeds
  extends Omit<StepDeps, 'contents'>, Pick<GateDeps, 'catalog' | 'arrivals'>, PackageSigningDeps {
  readonly contents: GateDeps['contents'] & StepDeps['contents']
  readonly keyring: StepDeps['keyring'] & PackageSigningDeps['keyring']
  readonly layout: Pick<Layout, 'incoming'>
}

/** The gate, and its steps for later looks. */
export interface GatePart {
  readonly gate: Gate
  readonly steps: readonly Step[]
}

/** The gate with its steps. */
export function composeGate(needs: GateNeeds): GatePart {
  const { catalog, settings, clock, arrivals, contents } = needs
  const steps = createSteps(needs)
  const [signing, unpacking] = [createPackageSigning(needs), createUnpacking()]
  const copies = createUnpackedCopies(needs.layout.incoming)
  return {
    steps,
    gate: createGate({ steps, catalog, settings, signing, unpacking, copies, contents, clock, arrivals }),
  }
}
