// Scenarios and configurations: levels of versions are compared within one, the distances that decide are so already.

// Of some versions [{key, words, runs, versions}]: those of the latest version first, whose lines reach up to it, each by how
// many versions and runs it has.
export function setupsOf(versions) {
  const found = new Map();
  for (const version of versions) {
    for (const [key, words, runs] of version.setups) {
      const one = found.get(key) ?? { key, words, runs: 0, versions: 0, last: -Infinity };
      one.runs += runs;
      one.versions += 1;
      one.last = Math.max(one.last, version.first);
      found.set(key, one);
    }
  }
  const all = [...found.values()];
  const latest = Math.max(...all.map((one) => one.last));
  const rank = (one) => [one.last === latest ? 1 : 0, one.versions, one.runs];
  return all.sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const differs = left.findIndex((value, i) => value !== right[i]);
    return differs < 0 ? (a.key < b.key ? -1 : 1) : right[differs] - left[differs];
  });
}

// Which of them is shown: the wanted one where it is among them, else the first.
export const chosen = (setups, wanted) => (setups.find((one) => one.key === wanted) ?? setups[0])?.key;

// Of a version's levels the place of a setup; -1 where it was not run so.
export const placeOf = (version, key) => version.setups.findIndex(([own]) => own === key);

// Whether a version has a level of a series, in one setup or (null) at all.
export const hasLevel = (version, series, key) =>
  series in version.levels && (key === null || Boolean(version.levels[series][0][placeOf(version, key)]));
