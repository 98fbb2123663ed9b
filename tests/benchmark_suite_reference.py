"""What each test of the shipped suite computes, worked out a second time: numpy, the standard library and published
values instead of Java. `expected(name, params)` is the golden value.

Where an answer is the same by whatever way it is found (a sorted array, a shortest way, a digest), another way is
taken; where the last bits depend on the order of operations (simulations), it is the same order, in numpy's types.
"""

from __future__ import annotations

import hashlib
import heapq
import hmac
import math
import re
import zlib
from collections import Counter, deque

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASK = (1 << 64) - 1
_TESTS = {}


def reference(function):
    """The reference of the test of the same name: `sort_primitive` is SortPrimitive's."""
    _TESTS["".join(part.capitalize() for part in function.__name__.split("_"))] = function
    return function


def expected(name, params):
    """The golden value of a test with its parameters, which are texts: paramKeyBits is `key_bits` here."""
    own = {key.removeprefix("param"): text for key, text in params.items()}
    return _TESTS[name](**{re.sub("(?<=.)([A-Z])", r"_\1", key).lower(): _converted(text) for key, text in own.items()})


def names():
    return set(_TESTS)


def _converted(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


# ---- what the tests share ------------------------------------------------------------------------
def fold(values):
    """Σ x_i 31^(n-1-i) modulo 2^64, as Java's long; of floating numbers the bits."""
    values = np.asarray(values)
    if values.dtype == np.float64:
        values = values.view(np.int64)
    elif values.dtype == np.float32:
        values = values.view(np.int32)
    numbers = values.astype(np.int64).view(np.uint64)
    powers = np.ones(len(numbers), dtype=np.uint64)
    powers[1:] = 31
    powers = np.multiply.accumulate(powers)[::-1]
    return signed(int(np.sum(numbers * powers, dtype=np.uint64)))


def signed(number):
    number &= MASK
    return number - (1 << 64) if number >> 63 else number


def folded(*parts):
    """`fold` of a few Python integers."""
    total = 0
    for one in parts:
        total = 31 * total + one
    return signed(total)


def of_bytes(data):
    return fold(np.frombuffer(bytes(data), dtype=np.int8))


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood 2014), many at a time."""

    def __init__(self, seed):
        self.state = seed

    def longs(self, count):
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = steps + np.uint64(self.state)
        self.state = int(z[-1]) if count else self.state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def ints(self, count, bound):
        return ((self.longs(count) >> np.uint64(33)) % np.uint64(bound)).astype(np.int64)

    def doubles(self, count):
        return (self.longs(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def bytes(self, count):
        return (self.longs(count) >> np.uint64(56)).astype(np.uint8).tobytes()

    def odd_integer(self, bits):
        return int.from_bytes(self.bytes(bits // 8), "big") | 1 | 1 << (bits - 1)


def text(size):
    words = SplitMix(7).ints(2 * size + 2, 1000).reshape(-1, 2).min(axis=1).tolist()
    made = bytearray()
    for word in words:
        if len(made) >= size:
            break
        made += bytes(ord("a") + int(digit) + word % 16 for digit in reversed(str(word + 1)))
        made += b" "
    return bytes(made[:size])


def kind(name):
    return {"float": np.float32, "double": np.float64, "int": np.int32, "long": np.int64}[name]


# ---- sort ----------------------------------------------------------------------------------------
def _sorted(size, type):
    random = SplitMix(1)
    if type == "int":
        values = (random.longs(size) >> np.uint64(32)).astype(np.uint32).view(np.int32)
    elif type == "long":
        values = random.longs(size).view(np.int64)
    else:
        values = random.doubles(size).astype(kind(type))
    return fold(np.sort(values))


for _name in ("SortPrimitive", "SortMergeParallel", "SortRadix", "SortHeap"):
    _TESTS[_name] = _sorted


@reference
def sort_objects(size, type):
    values = SplitMix(1).longs(size).view(np.int64)
    if type == "long":
        return fold(np.sort(values))
    texts = [_base36(int(one) >> (int(one) & 31)) for one in values]
    joined = "".join(sorted(texts, key=lambda one: (len(one), one)))
    return of_bytes(joined.encode())


def _base36(number):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    rest, made = abs(number), ""
    while rest or not made:
        rest, digit = divmod(rest, 36)
        made = digits[digit] + made
    return ("-" if number < 0 else "") + made


# ---- math ----------------------------------------------------------------------------------------
@reference
def long_arithmetic(factorial, limb_bits):
    return of_bytes(f"{math.factorial(factorial) ** 2:x}".encode())


@reference
def factorisation(first, count, type):
    struck = np.ones(math.isqrt(first + count) + 2, dtype=bool)
    struck[:2] = False
    for one in range(2, math.isqrt(len(struck)) + 1):
        struck[one * one :: one] &= not struck[one]
    primes = np.flatnonzero(struck)
    found = []
    for number in range(first, first + count):
        rest = number
        for prime in primes[number % primes == 0].tolist():
            while rest % prime == 0:
                found.append(prime)
                rest //= prime
        found += [rest] if rest > 1 else []
    return folded(*found)


@reference
def mod_pow(bits):
    random = SplitMix(2)
    base, exponent, modulus = (random.odd_integer(bits) for _ in range(3))
    return of_bytes(f"{pow(base, exponent, modulus):x}".encode())


@reference
def matrix_product(size, type):
    values = SplitMix(3).ints(2 * size * size, 16)
    left, right = (values[place::2].reshape(size, size) for place in (0, 1))
    return fold((left @ right).ravel())


@reference
def fourier_transform(size):
    values = SplitMix(4).doubles(2 * size) - 0.5
    found = np.fft.fft(values[0::2] + 1j * values[1::2])
    return fold(np.floor(1000 * np.column_stack([found.real, found.imag])).astype(np.int64).ravel())


@reference
def primes(below, type):
    is_prime = np.ones(below, dtype=bool)
    is_prime[:2] = False
    is_prime[4::2] = False
    for one in range(3, math.isqrt(below) + 1, 2):
        if is_prime[one]:
            is_prime[one * one :: one] = False
    return fold(np.flatnonzero(is_prime))


# ---- runge_kutta ---------------------------------------------------------------------------------
def _classical(slope, state, h, steps):
    """The classical method of fourth order; h / 2 and h / 6 in the type of h."""
    y = list(state)
    half, sixth, two = h / 2, h / 6, type(h)(2)
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope([a + half * k for a, k in zip(y, k1, strict=True)])
        k3 = slope([a + half * k for a, k in zip(y, k2, strict=True)])
        k4 = slope([a + h * k for a, k in zip(y, k3, strict=True)])
        y = [a + sixth * (p + two * q + two * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4, strict=True)]
    return y


def _number(type):
    """Python's own floats are doubles, and quicker than numpy's."""
    return float if type == "double" else np.float32


def oscillator(steps, type):
    """(x, v) after so many steps."""
    number = _number(type)
    return _classical(lambda y: (y[1], -y[0]), (number(1), number(0)), number(0.0009765625), steps)


def lorenz(steps, type):
    number = _number(type)
    ten, high, ratio = number(10), number(28), number(8) / number(3)

    def slope(y):
        return ten * (y[1] - y[0]), y[0] * (high - y[2]) - y[1], y[0] * y[1] - ratio * y[2]

    return _classical(slope, (number(1),) * 3, number(0.00390625), steps)


@reference
def runge_kutta_oscillator(steps, type):
    return fold(np.array(oscillator(steps, type), dtype=kind(type)))


@reference
def runge_kutta_lorenz(steps, type):
    return fold(np.array(lorenz(steps, type), dtype=kind(type)))


MU, PERIOD = 0.012277471, 17.0652165601579625588917206249
ARENSTORF = (0.994, 0.0, 0.0, -2.00158510637908252240537862224)
"""Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.0."""


def arenstorf_slope(y):
    a, b, yy = y[0] + MU, y[0] - (1 - MU), y[1] * y[1]
    d1, d2 = a * a + yy, b * b + yy
    d1 *= math.sqrt(d1)
    d2 *= math.sqrt(d2)
    return (
        y[2],
        y[3],
        y[0] + 2 * y[3] - (1 - MU) * a / d1 - MU * b / d2,
        y[1] - 2 * y[2] - (1 - MU) * y[1] / d1 - MU * y[1] / d2,
    )


def arenstorf(tolerance):
    """(state after a period, steps tried) by the pair of Bogacki and Shampine."""
    y, t, h, steps = list(ARENSTORF), 0.0, 0.0009765625, 0
    k1 = arenstorf_slope(y)
    while t < PERIOD:
        h = PERIOD - t if t + h > PERIOD else h
        k2 = arenstorf_slope([a + h * 0.5 * k for a, k in zip(y, k1, strict=True)])
        k3 = arenstorf_slope([a + h * 0.75 * k for a, k in zip(y, k2, strict=True)])
        after = [a + h * (2.0 / 9 * p + 1.0 / 3 * q + 4.0 / 9 * r) for a, p, q, r in zip(y, k1, k2, k3, strict=True)]
        k4 = arenstorf_slope(after)
        error = max(
            abs(h * (-5.0 / 72 * p + 1.0 / 12 * q + 1.0 / 9 * r - 1.0 / 8 * s))
            for p, q, r, s in zip(k1, k2, k3, k4, strict=True)
        )
        steps += 1
        if error > tolerance:
            h /= 2
            continue
        t += h
        y, k1 = after, k4
        if error < tolerance / 16:
            h *= 2
    return y, steps


@reference
def runge_kutta_three_body(tolerance):
    y, steps = arenstorf(tolerance)
    return folded(fold(np.array(y)), steps)


# ---- game_ai -------------------------------------------------------------------------------------
def _a_star(size):
    """Breadth first: every step costs the same."""
    blocked = (SplitMix(5).ints(size * size, 4) == 0).reshape(size, size)
    blocked[0, 0] = blocked[-1, -1] = False
    ways = {(0, 0): 0}
    waiting = deque(ways)
    while waiting:
        y, x = waiting.popleft()
        for place in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if 0 <= place[0] < size and 0 <= place[1] < size and not blocked[place] and place not in ways:
                ways[place] = ways[y, x] + 1
                waiting.append(place)
    return ways.get((size - 1, size - 1), -1)


_TESTS["AStar"] = _a_star


@reference
def minimax(columns, rows, pruning):
    """By memory of positions, without pruning; positions are counted as a tree has them."""
    lines = [
        [(row + k * down, column + k * right) for k in range(3)]
        for row in range(rows)
        for column in range(columns)
        for right, down in ((1, 0), (0, 1), (1, 1), (1, -1))
    ]
    places = [(row, column) for row in range(rows) for column in range(columns)]
    lines = [frozenset(line) for line in lines if set(line) <= set(places)]
    known = {}

    def best(mine, theirs):
        if (mine, theirs) not in known:
            free = [one for one in places if one not in mine and one not in theirs]
            if any(line <= theirs for line in lines):
                known[mine, theirs] = -1, 1
            elif not free:
                known[mine, theirs] = 0, 1
            else:
                after = [best(theirs, mine | {one}) for one in free]
                known[mine, theirs] = -min(value for value, _ in after), 1 + sum(count for _, count in after)
        return known[mine, theirs]

    value, positions = best(frozenset(), frozenset())
    return value if pruning else 10**9 * value + positions


@reference
def boids(boids, steps, type):
    number = _number(type)
    begin = SplitMix(6).doubles(4 * boids).reshape(boids, 4) - (0, 0, 0.5, 0.5)
    x, y, u, v = ([number(one) for one in column] for column in begin.T)
    zero, half, eighth, sixteenth, step_s = (number(one) for one in (0, 0.5, 0.125, 0.0625, 0.03125))
    root = math.sqrt if type == "double" else np.sqrt
    for _ in range(steps):
        after = []
        for i in range(boids):
            sx = sy = su = sv = ax = ay = zero
            near = 0
            for j in range(boids):
                dx, dy = x[j] - x[i], y[j] - y[i]
                d = dx * dx + dy * dy
                if j == i or d > sixteenth:
                    continue
                near += 1
                sx, sy, su, sv = sx + dx, sy + dy, su + u[j], sv + v[j]
                if d < 0.00390625:
                    ax, ay = ax - dx, ay - dy
            a, b = u[i], v[i]
            if near:
                count = number(near)
                a = a + (eighth * (su / count - u[i]) + sixteenth * (sx / count) + half * ax)
                b = b + (eighth * (sv / count - v[i]) + sixteenth * (sy / count) + half * ay)
            speed = root(a * a + b * b)
            if speed > half:
                a, b = a / speed * half, b / speed * half
            after.append((a, b))
        u, v = [one for one, _ in after], [one for _, one in after]
        x = [place + step_s * one for place, one in zip(x, u, strict=True)]
        y = [place + step_s * one for place, one in zip(y, v, strict=True)]
    return folded(*(fold(np.array(one, dtype=kind(type))) for one in (x, y, u, v)))


@reference
def behaviour_tree(agents, ticks):
    """All agents at once, by masks."""
    hunger, tiredness, food, asleep = (np.zeros(agents, dtype=np.int64) for _ in range(4))
    luck = np.arange(agents, dtype=np.uint32)
    for _ in range(ticks):
        hunger += 1
        sleeping = asleep > 0
        eating = ~sleeping & (hunger > 20) & (food > 0)
        lying = ~sleeping & ~eating & (tiredness > 50)
        gathering = ~sleeping & ~eating & ~lying
        tiredness[sleeping] -= 8
        asleep[sleeping] -= 1
        food[eating] -= 1
        hunger[eating] -= 15
        asleep[lying] = 6
        luck[gathering] = luck[gathering] * np.uint32(1664525) + np.uint32(1013904223)
        tiredness[gathering] += 2
        found = gathering & (luck >> np.uint32(30) == 0)
        food[found] += 1
        hunger[gathering & ~found] += 1
    columns = (hunger, tiredness, food, asleep, luck.view(np.int32))
    return folded(*(folded(*(int(one[place]) for one in columns)) for place in range(agents)))


# ---- vision --------------------------------------------------------------------------------------
def _image(size):
    return SplitMix(8).ints(size * size, 256).reshape(size, size)


def _masked(image, mask):
    """The sum under a mask around every cell that it fits."""
    windows = np.lib.stride_tricks.sliding_window_view(image, np.shape(mask))
    return np.einsum("yxij,ij->yx", windows, np.array(mask))


@reference
def blur(size, type):
    weights = np.array([1, 4, 6, 4, 1])
    return fold(np.pad(_masked(_image(size), np.outer(weights, weights)), 2).ravel())


@reference
def sobel(size):
    mask = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    image = _image(size)
    return fold(np.pad(abs(_masked(image, mask)) + abs(_masked(image, mask.T)), 1).ravel())


@reference
def integral_image(size, type):
    rows = np.lib.stride_tricks.sliding_window_view(_image(size) ** 2, 16, axis=1).sum(axis=2)
    return fold(np.lib.stride_tricks.sliding_window_view(rows, 16, axis=0).sum(axis=2).ravel())


@reference
def k_means(pixels, groups):
    colours = SplitMix(9).ints(3 * pixels, 256).reshape(pixels, 3)
    centres = colours[:groups].astype(np.float64)
    for _ in range(5):
        r, g, b = (colours[:, None, colour] - centres[None, :, colour] for colour in range(3))
        nearest = (r * r + g * g + b * b).argmin(axis=1)
        counts = np.bincount(nearest, minlength=groups)
        for group in np.flatnonzero(counts):
            centres[group] = colours[nearest == group].sum(axis=0) / counts[group]
    return folded(fold(counts), fold(centres.ravel()))


@reference
def hough(size, points):
    places = SplitMix(10).ints(2 * points, size).reshape(points, 2)
    angles = np.pi * (np.arange(180) + 0.25) / 180
    turns = np.floor(65536 * np.stack([np.cos(angles), np.sin(angles)]) + 0.5).astype(np.int64)
    distances = (places @ turns) // 65536
    votes = np.zeros((180, 4 * size), dtype=np.int64)
    np.add.at(votes, (np.arange(180)[None, :], 2 * size + distances), 1)
    return fold(votes.ravel())


# ---- compression ---------------------------------------------------------------------------------
@reference
def deflate(size, level):
    return of_bytes(text(size))


@reference
def inflate(size):
    return of_bytes(text(size))


@reference
def gzip(size):
    return zlib.crc32(text(size))


@reference
def huffman(size):
    """The least length of all prefix codes; the bytes come back."""
    own = text(size)
    weights = list(Counter(own).values())
    heapq.heapify(weights)
    bits = 0
    while len(weights) > 1:
        joined = heapq.heappop(weights) + heapq.heappop(weights)
        bits += joined
        heapq.heappush(weights, joined)
    return folded(bits, of_bytes(own))


# ---- crypto --------------------------------------------------------------------------------------
@reference
def aes_gcm(size, key_bits):
    random = SplitMix(11)
    key = random.bytes(key_bits // 8)
    return of_bytes(AESGCM(key).encrypt(bytes(11) + b"\x01", random.bytes(size), None))


def _hash(algorithm):
    return algorithm.replace("-", "").lower()


@reference
def digest(size, algorithm):
    return of_bytes(hashlib.new(_hash(algorithm), SplitMix(12).bytes(size)).digest())


_TESTS["Hmac"] = lambda size, algorithm: _hmac(SplitMix(13), size, algorithm)


def _hmac(random, size, algorithm):
    key = random.bytes(32)
    return of_bytes(hmac.new(key, random.bytes(size), algorithm.removeprefix("Hmac").lower()).digest())


@reference
def rsa_signature(bits):
    """m^d by hand, on the encoding of RFC 8017, section 9.2."""
    random = SplitMix(14)
    p, q = (_next_prime(random.odd_integer(bits // 2) | 1 << (bits // 2 - 2)) for _ in range(2))
    d = pow(65537, -1, (p - 1) * (q - 1))
    told = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(random.bytes(1000)).digest()
    padded = b"\x00\x01" + b"\xff" * (bits // 8 - 3 - len(told)) + b"\x00" + told
    return of_bytes(pow(int.from_bytes(padded, "big"), d, p * q).to_bytes(bits // 8, "big"))


def _next_prime(number):
    number += 2 if number % 2 else 1
    small = [one for one in range(3, 2000, 2) if all(one % other for other in range(3, math.isqrt(one) + 1, 2))]
    while any(number % one == 0 for one in small) or not _is_prime(number):
        number += 2
    return number


def _is_prime(number):
    """Miller and Rabin's test to the first twelve primes."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


@reference
def password_key(rounds, algorithm):
    name = algorithm.removeprefix("PBKDF2WithHmac").lower()
    password = b"correct horse battery staple"
    return of_bytes(hashlib.pbkdf2_hmac(name, password, SplitMix(15).bytes(16), rounds, 32))


# ---- physics -------------------------------------------------------------------------------------
@reference
def box_stack(boxes, steps):
    h = 0.015625
    x, y, v = [0.0] * boxes, [1.25 * i + 0.5 for i in range(boxes)], [0.0] * boxes
    u = [float(one) - 0.5 for one in SplitMix(16).doubles(boxes)]
    for _ in range(steps):
        v = [one - h * 9.8125 for one in v]
        for _ in range(10):
            for i in range(boxes):
                below, slide, gap = (v[i - 1], u[i - 1], y[i] - y[i - 1] - 1) if i else (0.0, 0.0, y[0])
                impulse = -gap / h - (v[i] - below)
                if impulse <= 0:
                    continue
                friction = max(-0.5 * impulse, min(0.5 * impulse, -(u[i] - slide)))
                if i:
                    v[i], v[i - 1] = v[i] + impulse / 2, v[i - 1] - impulse / 2
                    u[i], u[i - 1] = u[i] + friction / 2, u[i - 1] - friction / 2
                else:
                    v[0], u[0] = v[0] + impulse, u[0] + friction
        x = [place + h * one for place, one in zip(x, u, strict=True)]
        y = [place + h * one for place, one in zip(y, v, strict=True)]
    return folded(*(fold(np.array(one)) for one in (x, y, u, v)))


SUN, YEAR = 4 * math.pi * math.pi, 365.24
PLANETS = (
    "0 0 0 0 0 0 1",
    "4.84143144246472090e+00 -1.16032004402742839e+00 -1.03622044471123109e-01 1.66007664274403694e-03 "
    "7.69901118419740425e-03 -6.90460016972063023e-05 9.54791938424326609e-04",
    "8.34336671824457987e+00 4.12479856412430479e+00 -4.03523417114321381e-01 -2.76742510726411411e-03 "
    "4.99852801234917238e-03 2.30417297573763929e-05 2.85885980666130812e-04",
    "1.28943695621391310e+01 -1.51111514016986312e+01 -2.23307578892655734e-01 2.96460137564761618e-03 "
    "2.37847173959480950e-03 -2.96589568540237556e-05 4.36624404335156298e-05",
    "1.53796971148509165e+01 -2.59193146099879641e+01 1.79258772950371181e-01 2.68067772490389322e-03 "
    "1.62824170038242295e-03 -9.51592254519715870e-05 5.15138902046611451e-05",
)


def energy_after(steps):
    """Of the sun and the outer planets, with steps of 0.01 years."""
    bodies = [[float(one) for one in line.split()] for line in PLANETS]
    bodies = [[one * (1 if j < 3 else YEAR if j < 6 else SUN) for j, one in enumerate(body)] for body in bodies]
    for j in (3, 4, 5):
        bodies[0][j] = -sum(body[j] * body[6] for body in bodies[1:]) / SUN
    places = np.array([body[:3] for body in bodies])
    speeds = np.array([body[3:6] for body in bodies])
    masses = np.array([body[6] for body in bodies])
    first, second = np.triu_indices(len(bodies), 1)
    for _ in range(steps):
        apart = places[:, None] - places[None, :]
        squares = (apart**2).sum(axis=2)
        np.fill_diagonal(squares, 1.0)
        speeds = speeds - 0.01 * (apart * (masses / squares**1.5)[:, :, None]).sum(axis=1)
        places = places + 0.01 * speeds
    away = np.linalg.norm(places[first] - places[second], axis=1)
    return 0.5 * (masses * (speeds**2).sum(axis=1)).sum() - (masses[first] * masses[second] / away).sum()


_TESTS["NBody"] = lambda steps: round(1e9 * energy_after(steps))


@reference
def cloth(size, steps, type):
    number = _number(type)
    count, held = size * size, (0, size - 1)
    x, y = (
        [number(one) for one in column]
        for column in ((i % size for i in range(count)), (-(i // size) for i in range(count)))
    )
    last_x, last_y = list(x), list(y)
    keep, fall, half, one = number(0.96875), number(0.015625), number(0.5), number(1)
    root = math.sqrt if type == "double" else np.sqrt
    threads = [
        (i, j)
        for i in range(count)
        for j in ((i + 1,) if i % size < size - 1 else ()) + ((i + size,) if i + size < count else ())
    ]
    for _ in range(steps):
        for i in range(count):
            if i not in held:
                after = x[i] + keep * (x[i] - last_x[i]), y[i] + keep * (y[i] - last_y[i]) - fall
                last_x[i], last_y[i] = x[i], y[i]
                x[i], y[i] = after
        for _ in range(4):
            for i, j in threads:
                dx, dy = x[j] - x[i], y[j] - y[i]
                d = root(dx * dx + dy * dy)
                part = (d - one) / d * half
                if i not in held:
                    x[i], y[i] = x[i] + part * dx, y[i] + part * dy
                if j not in held:
                    x[j], y[j] = x[j] - part * dx, y[j] - part * dy
    return folded(*(fold(np.array(values, dtype=kind(type))) for values in (x, y)))


@reference
def particles(particles, steps, type):
    begin = (SplitMix(17).doubles(4 * particles).reshape(particles, 4) - (0, 0, 0.5, 0.5)).astype(kind(type))
    x, y, u, v = (column.copy() for column in begin.T)
    number = kind(type)
    for _ in range(steps):
        v -= number(0.0625)
        for places, speeds in ((x, u), (y, v)):
            np.add(places, number(0.015625) * speeds, out=places)
            out = (places < 0) | (places > 1)
            np.clip(places, 0, 1, out=places)
            speeds[out] *= number(-0.75)
    return folded(*(fold(one) for one in (x, y, u, v)))


# ---- jni -----------------------------------------------------------------------------------------
@reference
def jni_empty_call(calls, held):
    return calls if held else 0


@reference
def jni_array_copy(size, type):
    random = SplitMix(18)
    if type == "byte":
        return of_bytes(random.bytes(size))
    return fold(random.ints(size, 1000) if type == "int" else random.longs(size).view(np.int64))


@reference
def jni_crc32(size):
    return zlib.crc32(SplitMix(19).bytes(size))


@reference
def jni_strings(strings):
    texts = [_base36(int(one) >> 1) for one in SplitMix(20).longs(strings)]
    codes = [np.int64(fold(np.frombuffer(one.encode(), dtype=np.int8))).astype(np.int32) for one in texts]
    return folded(strings, *map(int, codes))
