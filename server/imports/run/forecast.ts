import { uploadAction, policyOf, type Action } from '../../core/policy.ts'
import { worst, type Severity } from '../../core/findings.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Matcher } from '../../scanners/matcher.ts'
import { EngineUnavailable, type CoverageAnswer } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import type { Listed } from './plan.ts'

/** What the policy does with a package for its known vulnerabilities. */
export interface Forecast {
  readonly action: Action
  readonly worst: Severity | undefined
  readonly findings: number
}

/** What the gate is going to do with packages, as far as that is known before their files are here. */
export interface Forecasts {
  readonly coverage: CoverageAnswer
  /** What was looked at, and what was not. */
  readonly said: string
  /** In the order of the packages; undefined where nothing could be looked up. */
  readonly packages: readonly (Forecast | undefined)[]
}

export type ForecastFor = (codename: string, packages: readonly Listed[]) => Promise<Forecasts>

export interface ForecastDeps {
  readonly matcher: Matcher
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly settings: Pick<Settings, 'now'>
}

const REST = 'Signature, malware and what lies inside a package are looked at when its file is here.'

/** Looks packages of the catalogue up by name and version; never says of one that was not looked up that it is fine. */
export function createForecast({ matcher, repositories, settings }: ForecastDeps): ForecastFor {
  return async (codename, packages) => {
    const distribution = repositories.seenBy(ALL_SEEING).get(codename)
    const nothing = packages.map(() => undefined)
    const { coverage, said } = await matcher.coverage(distribution)
    if (coverage === 'no_data' || coverage === 'not_covered')
      return { coverage, said: `${said} So nothing is known of these packages beforehand. ${REST}`, packages: nothing }
    const policy = policyOf(settings.now())
    try {
      const found = await matcher.match(
        distribution,
        packages.map(({ name, version, arch, source, sourceVersion }) => ({
          ...{ name, version, arch },
          source: source ?? '',
          sourceVersion: sourceVersion ?? version,
        })),
      )
      return {
        coverage,
        said: `${said} ${REST}`,
        packages: found.map(findings => ({
          action: uploadAction({ findings }, policy),
          worst: worst(findings),
          findings: findings.length,
        })),
      }
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error
      return { coverage: 'no_data', said: `${error.message} ${REST}`, packages: nothing }
    }
  }
}
